import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KernelSession } from '../../src/feed/session';
import { fn, snapshot, table } from '../records';
import { attached, ATTACH, FakeKernel, message } from './fakeKernel';

describe('whatever gets lost,', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const seconds = (n: number) => vi.advanceTimersByTimeAsync(n * 1000);
  const REQUEST = { how: 'send', type: 'request_snapshot' };

  function loadedKernel() {
    const kernel = new FakeKernel();
    kernel.loaded = true;
    return { kernel, session: new KernelSession(kernel) };
  }

  it('opens another comm within two seconds when the first has no answer', async () => {
    const { kernel, session } = loadedKernel();
    await seconds(2);
    const [first, second] = kernel.comms;
    expect(first?.isAgain).toBe(false);
    expect(second?.isAgain).toBe(true);
    expect(second?.sent).toEqual([ATTACH]);
    expect(session.status).toEqual({ kind: 'waiting' });
    second?.deliver(snapshot({ functions: table(fn()) }));
    expect(session.status).toEqual({ kind: 'attached' });
    const { length } = kernel.comms;
    await seconds(60);
    expect(kernel.comms).toHaveLength(length);
  });

  it('uses the comm that the kernel has answered last', async () => {
    const { kernel, session } = loadedKernel();
    await seconds(2);
    const [first, second] = kernel.comms;
    second?.deliver(snapshot({}, { seq: 2 }));
    first?.deliver(snapshot({ functions: table(fn()) }, { seq: 3 }));
    second?.closeByKernel(); // The kernel keeps one comm of a page.
    expect(session.status).toEqual({ kind: 'attached' });
    expect(session.store.state?.functions.size).toBe(1);
    session.setActive(false);
    expect(first?.sent.at(-1)).toEqual({ how: 'send', type: 'watch', active: false });
  });

  it('asks again whether nbfn is loaded', async () => {
    const kernel = new FakeKernel();
    kernel.loaded = true;
    kernel.isDeaf = true;
    const session = new KernelSession(kernel);
    await seconds(0.5);
    kernel.isDeaf = false;
    await seconds(1);
    expect(kernel.comm.sent).toEqual([ATTACH]);
    session.dispose();
  });

  it('asks after a cell although an earlier question got lost', async () => {
    const kernel = new FakeKernel();
    const session = new KernelSession(kernel);
    await seconds(0);
    kernel.isDeaf = true;
    kernel.runCell();
    await seconds(0);
    kernel.isDeaf = false;
    kernel.loaded = true;
    await seconds(2);
    expect(kernel.comm.sent).toEqual([ATTACH]);
    expect(session.status).toEqual({ kind: 'waiting' });
  });

  it('takes a late answer for what it is', async () => {
    const { kernel, session } = loadedKernel();
    kernel.comms.length = 0;
    session.dispose();
    const slow = new FakeKernel();
    slow.loaded = true;
    slow.busy = true;
    new KernelSession(slow);
    await seconds(4);
    expect(slow.questions).toBeGreaterThan(1);
    slow.answerOldest();
    await seconds(0);
    expect(slow.comms).toHaveLength(1);
    slow.release();
    await seconds(0);
    expect(slow.comms).toHaveLength(1);
  });

  it('does not take a comm for unloaded because of an older answer', async () => {
    const kernel = new FakeKernel();
    kernel.busy = true;
    const session = new KernelSession(kernel);
    await seconds(0);
    kernel.receive(message('comm_msg', { data: { type: 'presence' } }));
    await seconds(0);
    kernel.comm.deliver(snapshot({}));
    kernel.release(); // It was asked before nbfn was loaded.
    await seconds(0);
    expect(session.status).toEqual({ kind: 'attached' });
  });

  it('asks anew when the kernel closes a comm that it should have answered', async () => {
    const { kernel, session } = loadedKernel();
    for (let second = 0; second < 10; second += 1) {
      await seconds(1);
      kernel.comm.closeByKernel();
    }
    expect(kernel.comms.length).toBeGreaterThan(2);
    expect(kernel.comms.length).toBeLessThan(7);
    await seconds(16);
    kernel.comm.deliver(snapshot({}));
    expect(session.status).toEqual({ kind: 'attached' });
  });

  it('attaches again at once when the kernel has closed the comm in use', async () => {
    const { kernel, session, comm } = await attached();
    comm.closeByKernel();
    await seconds(0);
    expect(kernel.comms).toHaveLength(2);
    kernel.comm.deliver(snapshot({}, { seq: 9 }));
    expect(session.status).toEqual({ kind: 'attached' });
  });

  it('opens another comm when a question over the one in use has no answer', async () => {
    const { kernel, session, comm } = await attached();
    comm.deliver({ type: 'patch', epoch: 'epoch-1', seq: 5, put: {}, removed: {} });
    expect(comm.sent.at(-1)).toEqual(REQUEST);
    await seconds(2);
    expect(kernel.comms.length).toBeGreaterThan(1);
    expect(session.status).toEqual({ kind: 'attached' });
    kernel.comm.deliver(snapshot({ functions: table(fn({ calls: 8 })) }, { seq: 6 }));
    expect(session.store.state?.functions.get('f1')?.calls).toBe(8);
  });

  it('asks for an outline over the comm that answers', async () => {
    const { kernel, session, comm } = await attached();
    const question = { how: 'send', type: 'request_outlines', targets: ['f1'] };
    session.store.requestOutline('f1');
    await seconds(0);
    expect(comm.sent.at(-1)).toEqual(question);
    await seconds(2);
    kernel.comm.deliver(snapshot({ functions: table(fn()) }));
    await seconds(0);
    expect(kernel.comm.sent.at(-1)).toEqual(question);
  });

  it('asks for a snapshot after a cell whose end the kernel has not marked', async () => {
    const { kernel, comm } = await attached();
    kernel.startCell();
    comm.deliver({ type: 'mark', epoch: 'epoch-1', seq: 1 });
    kernel.runCell();
    expect(comm.sent).toEqual([ATTACH]);
    kernel.startCell();
    kernel.runCell();
    expect(comm.sent.at(-1)).toEqual(REQUEST);
  });

  it('leaves a hidden page as it is', async () => {
    const { kernel, session, comm } = await attached();
    session.setActive(false);
    kernel.startCell();
    kernel.runCell();
    expect(comm.sent.at(-1)).toEqual({ how: 'send', type: 'watch', active: false });
    session.setActive(true);
    expect(comm.sent.at(-1)).toEqual(REQUEST);
    session.setActive(false);
    await seconds(2);
    kernel.comm.deliver(snapshot({}, { seq: 2 }));
    expect(kernel.comm.sent.at(-1)).toEqual({
      how: 'send',
      type: 'watch',
      active: false
    });
  });

  it('asks a kernel without nbfn nothing when the page is seen again', async () => {
    const kernel = new FakeKernel();
    const session = new KernelSession(kernel);
    await seconds(0);
    session.setActive(false);
    session.setActive(true);
    const { questions } = kernel;
    for (let second = 0; second < 5; second += 1) {
      kernel.setStatus('busy');
      kernel.setStatus('idle');
      await seconds(1);
    }
    expect(kernel.questions).toBe(questions);
  });

  it('asks a busy kernel less and less often, and at once when it is idle', async () => {
    const { kernel } = loadedKernel();
    kernel.setStatus('busy');
    await seconds(64);
    const { length } = kernel.comms;
    expect(length).toBeGreaterThan(3);
    expect(length).toBeLessThan(10);
    kernel.setStatus('idle');
    await seconds(1);
    expect(kernel.comms).toHaveLength(length + 1);
    await seconds(1);
    expect(kernel.comms).toHaveLength(length + 2);
  });

  it('goes on over a subshell that was started late', async () => {
    const { kernel, session } = loadedKernel();
    kernel.supportsSubshells = true;
    kernel.setStatus('busy');
    await seconds(2);
    expect(kernel.comms[0]?.sent).toEqual([ATTACH]); // It waits for running cells.
    const { length } = kernel.comms;
    kernel.startSubshell();
    await seconds(0);
    expect(kernel.comm.sent).toEqual([ATTACH]);
    expect(kernel.comms.length).toBeLessThanOrEqual(length + 1);
    kernel.comm.deliver(snapshot({}));
    expect(session.status).toEqual({ kind: 'attached' });
  });

  it('drops every comm of a kernel that has restarted', async () => {
    const { kernel, session } = loadedKernel();
    await seconds(8);
    const old = [...kernel.comms];
    kernel.setStatus('restarting');
    old.forEach(comm => comm.deliver(snapshot({ functions: table(fn()) })));
    expect(session.store.state).toBeNull();
    await seconds(8);
    expect(kernel.comms).toEqual(old);
  });

  it('waits for the connection, and asks when it is back', async () => {
    const { kernel, session, comm } = await attached();
    kernel.connectionStatus = 'connecting';
    session.store.refresh();
    await seconds(30);
    expect(kernel.comms).toHaveLength(1);
    kernel.connectionStatus = 'connected';
    kernel.connectionStatusChanged.emit('connected');
    await seconds(1);
    expect(kernel.comms.length).toBeGreaterThan(1);
    comm.deliver(snapshot({}, { seq: 3 }));
    expect(session.store.isWaiting).toBe(false);
  });

  it('asks nothing more when disposed', async () => {
    const { kernel, session } = loadedKernel();
    await seconds(2);
    const { length } = kernel.comms;
    session.dispose();
    await seconds(60);
    expect(kernel.comms).toHaveLength(length);
    expect(vi.getTimerCount()).toBe(0);
  });
});
