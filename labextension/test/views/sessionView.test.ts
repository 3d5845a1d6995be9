import { describe, expect, it, vi } from 'vitest';
import { Store } from '../../src/feed/store';
import type { CauseRecord, Rows } from '../../src/protocol';
import { MEANINGS } from '../../src/protocol';
import { mount } from '../../src/views';
import {
  drawn,
  one,
  open,
  opened,
  rows,
  section,
  sessionPage,
  type,
  words
} from '../page';
import {
  fn,
  outline,
  retrace,
  retraced,
  snapshot,
  table,
  trace,
  tracedCell,
  work
} from '../records';

const [RETRACES, TOTALS, VARIABLES] = ['retraces', 'totals', 'variables'];

function shown(state: Rows) {
  return sessionPage(state, { pages: { f1: outline() } });
}

describe('SessionView', () => {
  it('lists functions, and their traces when opened', async () => {
    const { element } = shown(retraced());
    const functions = section(element, 'Functions');
    const row = one(functions, '.nbfn-Row');
    expect(words(row)).toBe('train_step(images, labels) 1 trace');
    await open(row);
    expect(words(row)).toContain('retraced: images: shape was [32], is [64]');
    expect(row.querySelectorAll('tbody tr')).toHaveLength(2);
  });

  it('lists cells, and their functions under them only', () => {
    const functions = table(fn({ name: 'train:4' }), fn({ id: 'f2', name: 'other' }));
    const cells = table(tracedCell({ call: 'hit', speedup: 3.95 }));
    const { element } = shown({ functions, cells });
    const list = section(element, 'Cells');
    expect(words(one(list, '.nbfn-Row'))).toBe('train In [6] 4.1 ms · 4×');
    expect(words(one(section(element, 'Functions'), '.nbfn-Row'))).toBe(
      'other(images, labels) 1 trace'
    );
  });

  it('says of functions that there is no other', () => {
    const { element } = shown({ functions: table(fn()), cells: table(tracedCell()) });
    expect(words(element)).toContain('No other function has been traced yet.');
  });

  it('shows what users wrote only ever as text', async () => {
    const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>';
    const cause = { code: 'unknown', sentence: evil, path: evil, old: evil, new: evil };
    const state = {
      cells: table(tracedCell({ name: evil, source: evil, python: [evil] })),
      functions: table(fn({ id: 'f2', name: evil, title: evil })),
      retraces: table(
        retrace({
          causes: [cause as CauseRecord],
          remedy: { sentence: evil, code: evil },
          cell: { id: evil, file: evil }
        })
      )
    };
    const { element } = sessionPage(state, { nbfn: evil });
    for (const details of element.querySelectorAll<HTMLElement>('details')) {
      await open(details);
    }
    expect(element.querySelectorAll('img, script')).toHaveLength(0);
    expect(element.textContent).toContain(evil);
  });

  it('has the outlines of retraces and devices, which it looks at while they are open', async () => {
    const look = vi.fn();
    const pages = {
      retraces: outline({ title: RETRACES, facts: ['9 ms to trace'] }),
      devices: outline({ status: null, facts: [], summary: null })
    };
    const { element } = sessionPage(retraced(), { pages }, { setTargets: look });
    await drawn();
    expect(look).toHaveBeenLastCalledWith(['totals', 'retraces']);
    const retraces = section(element, 'Retraces');
    expect(words(retraces)).toContain('retraced: images: shape was [32], is [64]');
    expect(words(one(retraces, '.nbfn-Remedy button'))).toBe(
      'Leave the batch size open'
    );
    expect(words(await opened(element, 'Devices'))).toContain('float32[64]');
  });

  it('has the outline of variables', async () => {
    const tree = {
      title: VARIABLES,
      header: ['name', 'dtype and shape', 'size'],
      rows: [
        ['model/hidden', '2 variables', '402 kB'],
        ['kernel', 'float32[784, 128]', '401 kB'],
        ['bias', 'float32[128]', '512 B']
      ],
      total: 3,
      open: true,
      kind: 'tree' as const,
      depths: [0, 1, 1]
    };
    const parts = { lines: [], status: null, facts: [], summary: null };
    const pages = { variables: outline({ ...parts, tables: [tree] }) };
    const { element } = sessionPage({}, { pages });
    const variables = await opened(element, 'Variables');
    expect([...variables.querySelectorAll('tbody th')].map(words)).toEqual([
      'model/hidden',
      'kernel',
      'bias'
    ]);
    // It is all there is: nothing folds a second time.
    expect(variables.querySelector('.nbfn-PageTable')).toBeNull();
  });

  it('has the values of variables, which are read while they are open', async () => {
    const look = vi.fn();
    const totals = { variables: 1 };
    const { element } = sessionPage({}, { totals }, { setTargets: look });
    const row = one(await opened(element, 'Variables'), '.nbfn-PageTable');
    await drawn();
    expect(look).toHaveBeenLastCalledWith(['totals', 'variables']);
    await open(row);
    expect(look).toHaveBeenLastCalledWith(['totals', 'variables', 'values']);
  });

  it('begins with the totals, which say on hover what they are', () => {
    const calls = { text: '1,200 calls', hint: 'Calls of all functions.' };
    const totals = outline({
      ...{ title: TOTALS, call: null, status: null, summary: null, tables: [] },
      ...{ lines: ['`%tf_auto` is on'], facts: [calls, '12 traces'] }
    });
    const { element } = sessionPage({}, { pages: { totals } });
    const line = one(element, '.nbfn-Totals');
    expect(words(line)).toBe('1,200 calls 12 traces %tf_auto is on');
    expect(one(line, '[title]').title).toBe(calls.hint);
  });

  it('says in titles how much there is, and on hover what is counted', () => {
    const totals = { functions: 3, variables: 1200, runs: 4, run_seconds: 62 };
    const { element } = sessionPage({}, { totals });
    const notes = ['Functions', 'Timeline', 'Variables'].map(title =>
      one(section(element, title), '.nbfn-Section-summary .nbfn-Note')
    );
    expect(notes.map(words)).toEqual(['3', '1 min 2 s in 4 runs', '1,200']);
    expect(notes.map(({ title }) => title)).toEqual([
      MEANINGS.functions,
      MEANINGS.runs,
      MEANINGS.variables
    ]);
  });

  it('ends with the versions', () => {
    const { element } = shown({});
    expect(words(one(element, '.nbfn-Footer'))).toBe('nbfn 0.1.0, TensorFlow 2.21.0');
  });

  it('begins with what is under way, as text and not as HTML', () => {
    const sentence = 'exporting to <b>model</b>: 3 s, step 2 of 5';
    const { element } = shown({
      work: table(work({ kind: 'export', function: null, sentence }))
    });
    const view = one(element, '.nbfn-SessionView');
    expect(words(view)).toMatch(/^exporting to <b>model<\/b>/);
    expect(view.firstElementChild?.querySelector('b')).toBeNull();
  });

  it('says in each section when there is nothing', async () => {
    const { element } = shown({});
    await opened(element, 'Variables');
    expect([...element.querySelectorAll('.nbfn-Empty')].map(words)).toEqual([
      'No function has been traced yet.'
    ]);
  });

  it('draws little of 1,000 functions and 10,000 traces', async () => {
    const functions = Array.from({ length: 1000 }, (_, n) =>
      fn({ id: `f${n}`, name: `step_${n}`, traces: 10 })
    );
    const traces = Array.from({ length: 10_000 }, (_, n) =>
      trace({ id: `t${n}`, function: `f${n % 1000}` })
    );
    const { element, store } = shown({
      functions: table(...functions),
      traces: table(...traces)
    });
    expect(element.querySelectorAll('*').length).toBeLessThan(1500);
    expect(rows(section(element, 'Functions'))).toHaveLength(50);

    const list = section(element, 'Functions');
    await type(one(list, 'input[type=search]'), 'step_0');
    expect(words(one(list, '[role=status]'))).toBe('1 found');

    store.receive({
      type: 'patch',
      epoch: 'epoch-1',
      seq: 2,
      put: { functions: table(fn({ id: 'f0', name: 'renamed' })) },
      totals: {},
      removed: {}
    });
    await drawn();
    expect(rows(list)).toHaveLength(0);
    await type(one(list, 'input[type=search]'), 'renamed');
    expect(rows(list)).toHaveLength(1);
  });

  it('draws nothing while nobody sees it, and catches up', async () => {
    const { element, store, mounted } = shown({});
    mounted.setActive(false);
    store.receive(snapshot(retraced(), { seq: 2 }));
    await drawn();
    expect(words(element)).not.toContain('train_step');
    mounted.setActive(true);
    await drawn();
    expect(words(element)).toContain('train_step');
  });

  it('leaves nothing behind', () => {
    const store = new Store();
    store.receive(snapshot(retraced()));
    const stop = vi.fn();
    vi.spyOn(store, 'subscribe').mockReturnValue(stop);
    const element = document.createElement('div');
    const mounted = mount(
      element,
      store,
      { view: 'session' },
      { loadPictures: () => import('../../src/pictures'), hasCells: true }
    );
    expect(element.childNodes).not.toHaveLength(0);
    mounted.dispose();
    expect(element.childNodes).toHaveLength(0);
    expect(stop).toHaveBeenCalledOnce();
  });
});
