import { afterEach, describe, expect, it, vi } from 'vitest';
import metadata from '../../package.json';
import { VERSION } from '../../src/feed/attachment';
import { KernelSession } from '../../src/feed/session';
import { PROTOCOL } from '../../src/protocol';
import { fn, snapshot, table } from '../records';
import { attached, ATTACH, FakeKernel, message, settle } from './fakeKernel';

afterEach(() => {
  vi.useRealTimers();
});

describe('KernelSession', () => {
  it('attaches to a kernel that has nbfn, such as after a reload of the page', async () => {
    const { session, comm } = await attached();
    expect(comm.target).toBe('nbfn');
    expect(comm.sent).toEqual([ATTACH]);
    expect(session.status).toEqual({ kind: 'attached' });
    expect(session.store.state?.functions.get('f1')?.name).toBe('train_step');
  });

  it('opens no comm to a kernel without nbfn, and asks again after each cell', async () => {
    const kernel = new FakeKernel();
    const session = new KernelSession(kernel);
    await settle();
    expect(session.status).toEqual({ kind: 'absent' });
    expect(kernel.comms).toEqual([]);
    kernel.loaded = true;
    kernel.runCell();
    await settle();
    expect(kernel.comm.sent).toEqual([ATTACH]);
    expect(session.status).toEqual({ kind: 'waiting' });
  });

  it('asks only after cells, not after its own question', async () => {
    const kernel = new FakeKernel();
    new KernelSession(kernel);
    await settle();
    const { questions } = kernel;
    const own = { msg_type: 'comm_info_request' };
    kernel.receive(message('status', { execution_state: 'idle' }, own));
    kernel.receive(
      message('status', { execution_state: 'busy' }, { msg_type: 'execute_request' })
    );
    expect(kernel.questions).toBe(questions);
  });

  it('asks nothing more once it is attached', async () => {
    const { kernel } = await attached();
    const { questions } = kernel;
    kernel.runCell();
    await settle();
    expect(kernel.questions).toBe(questions);
    expect(kernel.comms).toHaveLength(1);
  });

  it('attaches while cells are queued when the kernel says that nbfn is loaded', async () => {
    const kernel = new FakeKernel();
    const session = new KernelSession(kernel);
    await settle();
    kernel.busy = true;
    kernel.status = 'busy';
    kernel.receive(message('comm_msg', { data: { type: 'presence' } }));
    await settle();
    expect(kernel.comm.sent).toEqual([ATTACH]);
    expect(session.status).toEqual({ kind: 'waiting' });
  });

  it('waits for a busy kernel, asking only once', async () => {
    const kernel = new FakeKernel();
    kernel.loaded = true;
    kernel.busy = true;
    const session = new KernelSession(kernel);
    await settle();
    kernel.setStatus('busy');
    expect(session.status).toEqual({ kind: 'waiting' });
    expect(kernel.questions).toBe(1);
    kernel.runCell();
    await settle();
    expect(kernel.comm.sent).toEqual([ATTACH]);
  });

  it('opens the comm on its subshell, where it does not wait for cells', async () => {
    const kernel = new FakeKernel();
    kernel.loaded = true;
    kernel.supportsSubshells = true;
    const session = new KernelSession(kernel);
    await settle();
    expect(kernel.comm.sent).toEqual([]);
    kernel.startSubshell();
    await settle();
    expect(kernel.comm.sent).toEqual([ATTACH]);
    session.dispose();
  });

  it('does not wait for ever for a subshell', async () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel();
    kernel.loaded = true;
    kernel.supportsSubshells = true;
    new KernelSession(kernel);
    await vi.advanceTimersByTimeAsync(2000);
    expect(kernel.comm.sent).toEqual([ATTACH]);
  });

  it('starts afresh after a restart, and drops what the old kernel still says', async () => {
    const { kernel, session, comm } = await attached();
    kernel.loaded = false;
    kernel.setStatus('restarting');
    expect(session.status).toEqual({ kind: 'starting' });
    expect(session.store.state).toBeNull();
    comm.deliver(snapshot({ functions: table(fn()) }, { seq: 2 }));
    expect(session.store.state).toBeNull();
    kernel.setStatus('starting');
    kernel.setStatus('idle');
    await settle();
    expect(session.status).toEqual({ kind: 'absent' });
    kernel.loaded = true;
    kernel.runCell();
    await settle();
    expect(kernel.comms).toHaveLength(2);
    kernel.comm.deliver(snapshot({}, { epoch: 'epoch-2' }));
    expect(session.status).toEqual({ kind: 'attached' });
    comm.deliver(snapshot({ functions: table(fn()) }, { seq: 99 }));
    expect(session.store.state?.epoch).toBe('epoch-2');
  });

  it('sees a kernel that was said to restart, and did not', async () => {
    const { kernel, session } = await attached();
    kernel.setStatus('autorestarting');
    kernel.setStatus('idle');
    await settle();
    kernel.comm.deliver(snapshot({ functions: table(fn()) }, { seq: 2 }));
    expect(session.status).toEqual({ kind: 'attached' });
  });

  it('ignores an answer that a restart has overtaken', async () => {
    const kernel = new FakeKernel();
    kernel.loaded = true;
    kernel.busy = true;
    const session = new KernelSession(kernel);
    await settle();
    kernel.setStatus('autorestarting');
    expect(session.status).toEqual({ kind: 'starting' });
    kernel.setStatus('idle');
    expect(kernel.questions).toBe(2);
    kernel.answerOldest();
    await settle();
    expect(kernel.comms).toEqual([]);
    kernel.answerOldest();
    await settle();
    expect(kernel.comms).toHaveLength(1);
  });

  it('says that nbfn is not loaded after the kernel closed the comm', async () => {
    const { kernel, session, comm } = await attached();
    kernel.loaded = false;
    const listener = vi.fn();
    session.onChange(listener);
    comm.closeByKernel();
    expect(session.status).toEqual({ kind: 'absent' });
    expect(session.store.state).toBeNull();
    expect(listener).toHaveBeenCalled();
    comm.deliver(snapshot({}, { seq: 6 }));
    expect(session.store.state).toBeNull();
    // Loaded again in the same kernel, which keeps its epoch.
    kernel.loaded = true;
    kernel.runCell();
    await settle();
    kernel.comm.deliver(snapshot({ functions: table(fn()) }, { seq: 7 }));
    expect(session.status).toEqual({ kind: 'attached' });
  });

  it('shows a refusal, and does not ask again', async () => {
    const kernel = new FakeKernel();
    kernel.loaded = true;
    const session = new KernelSession(kernel);
    await settle();
    kernel.comm.deliver({
      type: 'refused',
      protocol: 9,
      nbfn: '9.0',
      message: 'Upgrade.'
    });
    kernel.comm.closeByKernel();
    kernel.runCell();
    await settle();
    expect(session.status).toEqual({ kind: 'refused', nbfn: '9.0', protocol: 9 });
    expect(kernel.comms).toHaveLength(1);
  });

  it('refuses a snapshot of another protocol', async () => {
    const { session, comm } = await attached();
    comm.deliver(snapshot({}, { protocol: PROTOCOL + 1, nbfn: '2.0', seq: 2 }));
    expect(session.status).toEqual({
      kind: 'refused',
      nbfn: '2.0',
      protocol: PROTOCOL + 1
    });
  });

  it('asks for a snapshot after a gap', async () => {
    const { comm } = await attached();
    comm.deliver({ type: 'patch', epoch: 'epoch-1', seq: 5, put: {}, removed: {} });
    expect(comm.sent.at(-1)).toEqual({ how: 'send', type: 'request_snapshot' });
  });

  it('asks for a snapshot when the connection is back', async () => {
    const { kernel, comm } = await attached();
    kernel.connectionStatus = 'connecting';
    kernel.connectionStatusChanged.emit('connecting');
    expect(comm.sent).toEqual([ATTACH]);
    kernel.connectionStatus = 'connected';
    kernel.connectionStatusChanged.emit('connected');
    expect(comm.sent.at(-1)).toEqual({ how: 'send', type: 'request_snapshot' });
  });

  it('leaves kernels of other languages alone', async () => {
    const kernel = new FakeKernel('julia');
    const session = new KernelSession(kernel);
    await settle();
    kernel.runCell();
    expect(session.status).toEqual({ kind: 'foreign', language: 'julia' });
    expect(kernel.questions).toBe(0);
  });

  it('says so when the kernel is dead', async () => {
    const kernel = new FakeKernel();
    const session = new KernelSession(kernel);
    await settle();
    kernel.setStatus('dead');
    expect(session.status).toEqual({ kind: 'dead' });
  });

  it('attaches to a kernel that was found busy, such as after a reload in mid-run', async () => {
    const kernel = new FakeKernel();
    kernel.loaded = true;
    kernel.status = 'unknown';
    const session = new KernelSession(kernel);
    expect(session.status).toEqual({ kind: 'starting' });
    await settle();
    expect(kernel.comm.sent).toEqual([ATTACH]);
    expect(session.status).toEqual({ kind: 'waiting' });
  });

  it('knows which cell runs, until it ends or the kernel restarts', async () => {
    const { kernel, session } = await attached();
    const listener = vi.fn();
    session.onChange(listener);
    kernel.startCell();
    expect(session.running).toMatchObject({ count: 7, code: 'step(x)' });
    expect(listener).toHaveBeenCalledTimes(1);
    kernel.runCell();
    expect(session.running).toBeNull();
    kernel.startCell();
    kernel.setStatus('restarting');
    expect(session.running).toBeNull();
  });

  it('lets go of a kernel when disposed', async () => {
    const { kernel, session, comm } = await attached();
    session.dispose();
    expect(comm.sent.at(-1)).toEqual({ how: 'close' });
    expect(session.hasEnded).toBe(true);
    expect(kernel.anyMessage.slots).toEqual([]);
    expect(kernel.statusChanged.slots).toEqual([]);
    expect(kernel.connectionStatusChanged.slots).toEqual([]);
  });
});

it('carries the version of the package', () => {
  expect(metadata.version).toBe(VERSION);
});
