import { describe, expect, it } from 'vitest';
import type { RenderProps } from '@anywidget/types';
import widget from '../src/widget';
import { drawn, words } from './page';
import { graphOf } from './pictures/graphs';
import type { Page, SnapshotMessage } from '../src/protocol';
import { fn, outline, snapshot, table } from './records';

/** A model, as the host of a widget has it. */
class FakeModel {
  constructor(private readonly traits: Record<string, unknown>) {}

  readonly listeners = new Map<string, Set<(message?: unknown) => void>>();

  get(name: string): unknown {
    return this.traits[name];
  }

  set(name: string, value: unknown): void {
    this.traits[name] = value;
    for (const listener of this.listeners.get(`change:${name}`) ?? []) listener();
  }

  on(event: string, listener: () => void): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(listener));
  }

  readonly sent: unknown[] = [];

  send(message: unknown): void {
    this.sent.push(message);
  }

  tell(message: unknown): void {
    for (const listener of this.listeners.get('msg:custom') ?? []) listener(message);
  }

  off(event: string, listener: () => void): void {
    this.listeners.get(event)?.delete(listener);
  }

  get listening(): number {
    return [...this.listeners.values()].reduce((sum, all) => sum + all.size, 0);
  }
}

async function rendered(traits: Record<string, unknown>, signal?: AbortSignal) {
  const model = new FakeModel(traits);
  const el = document.createElement('div');
  const props: unknown = { model, el, signal };
  const cleanup = await widget.render(props as RenderProps<never>);
  return { model, el, cleanup };
}

const HIT = told({ call: 'hit', status: 'hit: trace 1 served' });

function told(
  values: Partial<Page>,
  others: Partial<SnapshotMessage> = {}
): SnapshotMessage {
  const pages = { f1: outline(values) };
  return snapshot({ functions: table(fn()) }, { pages, ...others });
}

describe('the widget', () => {
  it('shows the function of its target, and follows the snapshot', async () => {
    const { model, el } = await rendered({
      view: 'function',
      target: 'f1',
      snapshot: HIT
    });
    expect(words(el)).toContain('labels) hit: trace 1');
    model.set('snapshot', told({}, { seq: 2 }));
    await drawn();
    expect(words(el)).toContain('labels) retraced: images');
  });

  it('shows the session', async () => {
    const { el } = await rendered({ view: 'session', target: null, snapshot: HIT });
    expect(words(el)).toContain('Variables');
  });

  it('shows a graph, for which it asks for the pictures', async () => {
    const graph = graphOf([[{ name: 'x' }, { name: 'y', takes: ['x'] }]]);
    const { model, el } = await rendered({ view: 'graph', graph, snapshot: {} });
    await drawn();
    expect(words(el)).toContain('2 operations');
    expect(model.sent).toContainEqual({ type: 'request_pictures' });
  });

  it('shows a page with its picture', async () => {
    const graph = graphOf([[{ name: 'x' }, { name: 'y', takes: ['x'] }]]);
    const title = ['trace 1', 'trace 2'].join(' → ');
    const page = { title, lines: ['`k` differs'], tables: [], groups: [] };
    const { model, el } = await rendered({ view: 'page', page, graph, snapshot: {} });
    await drawn();
    expect(words(el)).toContain('trace 1 → trace 2');
    expect(words(el)).toContain('k differs');
    expect(model.sent).toContainEqual({ type: 'request_pictures' });
  });

  it('follows patches, and asks for what it has missed', async () => {
    const { model, el } = await rendered({
      view: 'function',
      target: 'f1',
      snapshot: HIT
    });
    const first = [
      { type: 'request_snapshot' },
      { type: 'request_outlines', targets: ['f1'] }
    ];
    await drawn();
    expect(model.sent).toEqual(first);
    const calls = (seq: number, n: number) => ({
      type: 'patch',
      epoch: 'epoch-1',
      seq,
      totals: {},
      put: { functions: table(fn({ calls: n })) },
      removed: {},
      pages: { f1: outline({ summary: `${n} calls` }) }
    });
    model.tell(calls(2, 12));
    await drawn();
    expect(words(el)).toContain('12 calls');
    model.tell(calls(4, 14));
    model.tell({ type: 'else' });
    await drawn();
    expect(words(el)).toContain('12 calls');
    expect(model.sent.slice(2)).toEqual([{ type: 'request_snapshot' }]);
  });

  it('waits for its first snapshot', async () => {
    const { model, el } = await rendered({
      view: 'session',
      target: null,
      snapshot: {}
    });
    expect(words(el)).toBe('Nothing has been traced yet.');
    model.set('snapshot', HIT);
    await drawn();
    expect(words(el)).toContain('train_step');
  });

  it('cleans up when the host aborts', async () => {
    const controller = new AbortController();
    const { model, el } = await rendered(
      { view: 'function', target: 'f1', snapshot: HIT },
      controller.signal
    );
    controller.abort();
    expect(el.childNodes).toHaveLength(0);
    expect(model.listening).toBe(0);
  });

  it('cleans up although its pictures have not come', async () => {
    const graph = graphOf([[{ name: 'x' }]]);
    const { model, cleanup } = await rendered({ view: 'graph', graph, snapshot: {} });
    await drawn();
    if (typeof cleanup !== 'function') throw new Error('nothing to call');
    await cleanup();
    expect(model.listening).toBe(0);
  });

  it('cleans up when an older host calls what it returned', async () => {
    const { model, el, cleanup } = await rendered({
      view: 'function',
      target: 'f1',
      snapshot: HIT
    });
    if (typeof cleanup !== 'function') throw new Error('nothing to call');
    await cleanup();
    expect(el.childNodes).toHaveLength(0);
    expect(model.listening).toBe(0);
  });
});
