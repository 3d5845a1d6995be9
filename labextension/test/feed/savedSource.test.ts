import { describe, expect, it, vi } from 'vitest';
import { SavedSource } from '../../src/feed/savedSource';
import { Store } from '../../src/feed/store';
import type { SnapshotMessage } from '../../src/protocol';
import { fn, outline, snapshot } from '../records';

function saved(calls: number, values: Partial<SnapshotMessage> = {}) {
  const pages = { f1: outline({ summary: String(calls) }) };
  const kept = snapshot({}, { pages, ...values });
  return { view: 'function' as const, target: fn().id, snapshot: kept };
}

function session(kind: string) {
  const listeners = new Set<() => void>();
  return {
    store: new Store(),
    status: { kind },
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    become(next: string) {
      this.status.kind = next;
      listeners.forEach(listener => listener());
    }
  };
}

const calls = (kept: SavedSource) => {
  const page = kept.state?.pages.get(fn().id);
  return page && Number(page.summary);
};

describe('SavedSource', () => {
  it('shows what the notebook has kept if there is no kernel', () => {
    const kept = new SavedSource(saved(3));
    expect(calls(kept)).toBe(3);
    expect(kept.presence).toBe('ended');
  });

  it('follows the kernel that made it, and no other', () => {
    const kept = new SavedSource(saved(3));
    const own = session('waiting');
    kept.follow(own);
    expect(kept.presence).toBe('unknown');
    own.store.receive(saved(5, { seq: 7 }).snapshot);
    expect([calls(kept), kept.presence]).toEqual([5, 'live']);

    const other = session('attached');
    other.store.receive(saved(9, { epoch: 'another' }).snapshot);
    kept.follow(other);
    expect([calls(kept), kept.presence]).toEqual([5, 'ended']);
    own.store.receive(saved(6, { seq: 8 }).snapshot);
    expect(calls(kept)).toBe(5);
  });

  it('shows what the notebook has kept until the kernel has told', () => {
    const kept = new SavedSource(saved(0, { seq: 4 }));
    const own = session('attached');
    own.store.receive(snapshot({}, { seq: 4 }));
    kept.follow(own);
    expect([calls(kept), kept.presence]).toEqual([0, 'live']);
    own.store.receive(saved(2, { seq: 5 }).snapshot);
    expect(calls(kept)).toBe(2);
    own.store.receive({ type: 'pages', epoch: 'epoch-1', pages: { f1: null } });
    expect(calls(kept)).toBeNull();
  });

  it('looks at the outlines of whichever session it follows', async () => {
    const looks: string[][] = [];
    const [one, other] = [session('attached'), session('attached')].map(each => ({
      ...each,
      store: new Store({ setTargets: targets => looks.push(targets) })
    }));
    if (!one || !other) throw new Error('no sessions');
    one.store.receive(snapshot());
    other.store.receive(snapshot());
    const kept = new SavedSource(saved(3));
    const stop = kept.requestOutline('f1');
    kept.follow(one);
    await Promise.resolve();
    expect(looks).toEqual([['f1']]);
    kept.follow(other);
    await Promise.resolve();
    expect(looks).toEqual([['f1'], [], ['f1']]);
    stop();
    await Promise.resolve();
    expect(looks.at(-1)).toEqual([]);
  });

  it('keeps the last state when the kernel is restarted', () => {
    const kept = new SavedSource(saved(3));
    const own = session('attached');
    own.store.receive(saved(5).snapshot);
    kept.follow(own);
    own.store.forget();
    own.become('starting');
    expect([calls(kept), kept.presence]).toEqual([5, 'ended']);
    own.become('waiting');
    expect(kept.presence).toBe('ended');
  });

  it('is gone where the kernel has not loaded nbfn', () => {
    const kept = new SavedSource(saved(3));
    const own = session('waiting');
    kept.follow(own);
    own.become('absent');
    expect(kept.presence).toBe('ended');
  });

  it('takes what the notebook keeps now, but not over what is live', () => {
    const kept = new SavedSource(saved(3));
    kept.update(saved(4, { seq: 2 }));
    expect(calls(kept)).toBe(4);
    const own = session('attached');
    own.store.receive(saved(8, { seq: 9 }).snapshot);
    kept.follow(own);
    kept.update(saved(5, { seq: 3 }));
    expect(calls(kept)).toBe(8);
    kept.update(saved(1, { epoch: 'next', seq: 1 }));
    expect([calls(kept), kept.presence]).toEqual([1, 'ended']);
  });

  it('tells its listeners, until it is disposed', () => {
    const kept = new SavedSource(saved(3));
    const own = session('attached');
    kept.follow(own);
    const listener = vi.fn();
    kept.subscribe(listener);
    own.store.receive(saved(5).snapshot);
    expect(listener).toHaveBeenCalledTimes(1);
    kept.dispose();
    own.store.receive(saved(6, { seq: 9 }).snapshot);
    expect(listener).toHaveBeenCalledTimes(1);
  });
});
