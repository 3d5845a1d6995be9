import type { Kernel } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { afterEach, expect, it, vi } from 'vitest';
import { SessionTracker } from '../../src/lab/tracker';

afterEach(() => {
  vi.restoreAllMocks();
});

interface Sent {
  channel: string;
  header: { msg_type: string; msg_id: string; subshell_id?: string };
  content: { data?: object; subshell_id?: string };
}

/** A kernel with nbfn and subshells; it answers the page's comms with nothing. */
function fakeKernel() {
  const sent: Sent[] = [];
  const reply = (content: object) => Promise.resolve({ content, header: {} });
  function connect() {
    const connection = {
      id: 'kernel-1',
      status: 'idle',
      connectionStatus: 'connected',
      isDisposed: false,
      username: '',
      clientId: 'page',
      info: Promise.resolve({
        language_info: { name: 'python' },
        supported_features: ['kernel subshells']
      }),
      requestCommInfo: () =>
        reply({ status: 'ok', comms: { c1: { target_name: 'nbfn.presence' } } }),
      sendControlMessage: (message: Sent) => {
        sent.push(message);
        return {
          done: reply({ status: 'ok', subshell_id: `subshell-${sent.length}` })
        };
      },
      sendShellMessage: (message: Sent) => {
        sent.push(message);
        return { done: reply({}) };
      }
    };
    const disposed = new Signal<object, void>(connection);
    return Object.assign(connection, {
      statusChanged: new Signal<object, string>(connection),
      connectionStatusChanged: new Signal<object, string>(connection),
      anyMessage: new Signal<object, object>(connection),
      disposed,
      dispose: () => {
        connection.isDisposed = true;
        disposed.emit();
      }
    });
  }
  const ofType = (type: string) => sent.filter(one => one.header.msg_type === type);
  return { connect: () => connect() as never as Connection, ofType };
}

type Connection = Kernel.IKernelConnection & {
  anyMessage: Signal<object, object>;
};

const settle = () => new Promise(resolve => setTimeout(resolve, 20));

it('uses one subshell of a kernel until the page ends', async () => {
  const { connect, ofType } = fakeKernel();
  const tracker = new SessionTracker({ documents: [] });
  const first = connect();
  const session = tracker.sessionOf(first);
  await settle();
  first.dispose();
  expect(session.hasEnded).toBe(true);
  expect(tracker.sessionOf(connect())).not.toBe(session);
  await settle();
  expect(ofType('comm_open')).toHaveLength(2);
  expect(ofType('create_subshell_request')).toHaveLength(1);
  expect(ofType('delete_subshell_request')).toEqual([]);
  window.dispatchEvent(new Event('pagehide'));
  expect(ofType('delete_subshell_request')).toHaveLength(1);
});

it('has nothing sent to a page that is hidden from the beginning', async () => {
  vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
  const { connect, ofType } = fakeKernel();
  const connection = connect();
  new SessionTracker({ documents: [] }).sessionOf(connection);
  await settle();
  const id = (ofType('comm_open')[0]?.content as { comm_id?: string }).comm_id;
  const data = { type: 'mark', epoch: 'epoch-1', seq: 1 };
  const msg = { header: { msg_type: 'comm_msg' }, content: { comm_id: id, data } };
  connection.anyMessage.emit({ msg, direction: 'recv' });
  expect(ofType('comm_msg').map(one => one.content.data)).toContainEqual({
    type: 'watch',
    active: false
  });
});
