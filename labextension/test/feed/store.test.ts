import { describe, expect, it, vi } from 'vitest';
import { lastRetrace } from '../../src/feed/lookup';
import { Store } from '../../src/feed/store';
import type { Patch } from '../../src/protocol';
import { fn, outline, retrace, snapshot, table, trace, work } from '../records';

function patch(values: Partial<Patch> = {}): Patch {
  return {
    type: 'patch',
    epoch: 'epoch-1',
    seq: 2,
    totals: {},
    put: {},
    removed: {},
    ...values
  };
}

function filled() {
  const requestSnapshot = vi.fn();
  const store = new Store({ requestSnapshot });
  store.receive(snapshot({ functions: table(fn()), traces: table(trace()) }));
  return { store, requestSnapshot };
}

describe('Store', () => {
  it('is empty before the first snapshot', () => {
    expect(new Store().state).toBeNull();
  });

  it('takes a snapshot whole', () => {
    const { store } = filled();
    store.receive(snapshot({ functions: table(fn({ id: 'f2' })) }, { seq: 9 }));
    expect([...(store.state?.functions.keys() ?? [])]).toEqual(['f2']);
    expect(store.state?.traces.size).toBe(0);
    expect(store.state?.tensorflow).toBe('2.21.0');
  });

  it('puts and removes the rows of a patch, and leaves the old state alone', () => {
    const { store } = filled();
    const before = store.state;
    store.receive(
      patch({
        put: { traces: table(trace({ id: 't2', number: 2 })) },
        removed: { traces: ['t1'] }
      })
    );
    expect([...(store.state?.traces.keys() ?? [])]).toEqual(['t2']);
    expect([...(before?.traces.keys() ?? [])]).toEqual(['t1']);
    expect(store.state?.functions).toBe(before?.functions);
  });

  it('takes in work, and takes it out when it is done', () => {
    const { store } = filled();
    store.receive(patch({ put: { work: table(work()) } }));
    expect(store.state?.work.get('trace-1')?.done).toBe(50);
    store.receive(patch({ seq: 3, removed: { work: ['trace-1'] } }));
    expect(store.state?.work.size).toBe(0);
  });

  it('learns which TensorFlow the kernel has imported since', () => {
    const { store } = filled();
    store.receive(snapshot({}, { seq: 2, tensorflow: null }));
    store.receive(patch({ seq: 3, tensorflow: '2.19.1' }));
    expect(store.state?.tensorflow).toBe('2.19.1');
    store.receive(patch({ seq: 4 }));
    expect(store.state?.tensorflow).toBe('2.19.1');
  });

  it('takes out a row that the same patch puts', () => {
    const { store } = filled();
    store.receive(
      patch({
        put: { traces: table(trace({ id: 't2' })) },
        removed: { traces: ['t2'] }
      })
    );
    expect(store.state?.traces.has('t2')).toBe(false);
    expect(store.state?.seq).toBe(2);
  });

  it('keeps the order of creation when a row changes', () => {
    const { store } = filled();
    store.receive(patch({ put: { functions: table(fn({ id: 'f2' })) } }));
    store.receive(patch({ seq: 3, put: { functions: table(fn({ calls: 99 })) } }));
    expect([...(store.state?.functions.keys() ?? [])]).toEqual(['f1', 'f2']);
    expect(store.state?.functions.get('f1')?.calls).toBe(99);
  });

  it('asks once for a snapshot after a gap, and goes on from it', () => {
    const { store, requestSnapshot } = filled();
    store.receive(patch({ seq: 4, put: { functions: table(fn({ calls: 50 })) } }));
    store.receive(patch({ seq: 5 }));
    expect(requestSnapshot).toHaveBeenCalledTimes(1);
    expect(store.state?.functions.get('f1')?.calls).toBe(2);
    store.receive(snapshot({ functions: table(fn({ calls: 60 })) }, { seq: 5 }));
    store.receive(patch({ seq: 6, put: { functions: table(fn({ calls: 61 })) } }));
    expect(store.state?.functions.get('f1')?.calls).toBe(61);
    store.receive(patch({ seq: 8 }));
    expect(requestSnapshot).toHaveBeenCalledTimes(2);
  });

  it('drops a patch that it already has', () => {
    const { store, requestSnapshot } = filled();
    store.receive(patch({ put: { functions: table(fn({ calls: 3 })) } }));
    store.receive(patch({ put: { functions: table(fn({ calls: 1 })) } }));
    expect(store.state?.functions.get('f1')?.calls).toBe(3);
    expect(requestSnapshot).not.toHaveBeenCalled();
  });

  it('asks for a snapshot when a patch is of an unknown epoch', () => {
    const { store, requestSnapshot } = filled();
    store.receive(patch({ epoch: 'epoch-2' }));
    expect(requestSnapshot).toHaveBeenCalledTimes(1);
    expect(store.state?.epoch).toBe('epoch-1');
  });

  it('applies no late patch of an epoch that another has replaced', () => {
    const { store } = filled();
    store.receive(snapshot({}, { epoch: 'epoch-2' }));
    store.receive(patch({ put: { functions: table(fn()) } }));
    expect(store.state?.epoch).toBe('epoch-2');
    expect(store.state?.functions.size).toBe(0);
  });

  it('drops a snapshot that a newer patch has overtaken', () => {
    const { store } = filled();
    store.receive(patch({ put: { functions: table(fn({ calls: 7 })) } }));
    store.receive(snapshot({ functions: table(fn({ calls: 2 })) }, { seq: 1 }));
    expect(store.state?.functions.get('f1')?.calls).toBe(7);
  });

  it('forgets what the same kernel may send again', () => {
    const { store } = filled();
    store.forget();
    expect(store.state).toBeNull();
    store.receive(snapshot({ functions: table(fn()) }));
    expect(store.state?.functions.size).toBe(1);
  });

  it('asks for a snapshot when a mark is ahead of it, or of another kernel', () => {
    const { store, requestSnapshot } = filled();
    store.receive({ type: 'mark', epoch: 'epoch-1', seq: 1 });
    expect(requestSnapshot).not.toHaveBeenCalled();
    store.receive({ type: 'mark', epoch: 'epoch-1', seq: 2 });
    expect(requestSnapshot).toHaveBeenCalledTimes(1);
    expect(store.isWaiting).toBe(true);
    store.receive(snapshot({}, { seq: 2 }));
    expect(store.isWaiting).toBe(false);
    store.receive({ type: 'mark', epoch: 'epoch-2', seq: 1 });
    expect(requestSnapshot).toHaveBeenCalledTimes(2);
  });

  it('asks for an outline once, and again over another comm, until nobody looks', async () => {
    const look = vi.fn();
    const store = new Store({ setTargets: look });
    store.receive(snapshot({ functions: table(fn()) }));
    const stops = [
      store.requestOutline('f1'),
      store.requestOutline('f1'),
      store.requestOutline('f2')
    ];
    await Promise.resolve();
    expect(look.mock.calls).toEqual([[['f1', 'f2']]]);
    expect(store.isWaiting).toBe(true);
    store.receive(snapshot({ functions: table(fn()) }, { seq: 2 }));
    await Promise.resolve();
    expect(look).toHaveBeenCalledTimes(2);
    const pages = { f1: outline(), f2: null };
    store.receive({ type: 'pages', epoch: 'epoch-1', pages });
    expect(store.isWaiting).toBe(false);
    expect(store.state?.pages.get('f1')).toEqual(outline());
    store.receive(snapshot({ functions: table(fn()) }, { seq: 3, pages }));
    expect(store.isWaiting).toBe(false);
    stops.forEach(stop => stop());
    await Promise.resolve();
    expect(look).toHaveBeenCalledTimes(3);
    expect(look).toHaveBeenLastCalledWith([]);
  });

  it('waits for no outline of a kernel that has told nothing', () => {
    const store = new Store({});
    store.requestOutline('f1');
    expect(store.isWaiting).toBe(false);
    store.receive(snapshot({ functions: table(fn()) }));
    expect(store.isWaiting).toBe(true);
    store.forget();
    expect(store.isWaiting).toBe(false);
  });

  it('takes the outlines of a patch, and keeps the others', () => {
    const store = new Store();
    const pages = { f1: outline(), f2: outline() };
    store.receive(snapshot({ functions: table(fn()) }, { pages }));
    store.receive({ ...patch(), seq: 2, pages: { f1: outline({ summary: 'now' }) } });
    const summaries = [...(store.state?.pages.values() ?? [])].map(one => one?.summary);
    expect(summaries).toEqual(['now', outline().summary]);
  });

  it('tells listeners of changes until they leave', () => {
    const { store } = filled();
    const listener = vi.fn();
    const stop = store.subscribe(listener);
    store.receive(patch());
    store.receive(patch());
    expect(listener).toHaveBeenCalledTimes(1);
    stop();
    store.receive(patch({ seq: 3 }));
    expect(listener).toHaveBeenCalledTimes(1);
  });
});

it('finds the newest retrace of all functions', () => {
  const store = new Store();
  const rows = table(retrace(), retrace({ id: 'r2', function: 'f2' }));
  store.receive(snapshot({ functions: table(fn()), retraces: rows }));
  expect(store.state && lastRetrace(store.state)?.id).toBe('r2');
});
