import { describe, expect, it } from 'vitest';
import type { State } from '../../src/protocol';
import type { RevealCell } from '../../src/views';
import { REVEAL_CELL } from '../../src/views';
import { asked, button, drawn, one, open, page, press, words } from '../page';
import { fn, retrace, snapshot, table, trace, tracedCell, work } from '../records';

const CHOICE = { view: 'cell', target: 'cell-1' } as const;
const OF_LAST_RUN = { id: 'notebook-cell', execution_count: 6, line: 4 };

function state(cell = tracedCell(), more: State = {}): State {
  return {
    cells: table(cell),
    functions: table(fn({ name: 'train:4' })),
    traces: table(trace()),
    ...more
  };
}

function shown(cell = tracedCell(), more: State = {}): HTMLElement {
  return page(snapshot(state(cell, more)), CHOICE).element;
}

function line(cell = tracedCell(), more: State = {}): string {
  const line = one(shown(cell, more), '.nbfn-CellLine');
  one(line, '[role=status]').remove();
  return words(line);
}

describe('the line under a cell', () => {
  it('says what is graph, what is Python and why, and how fast it was', () => {
    expect(line()).toBe(
      '1 of 3 statements in 1 graph (line 4) Python: line 5 prints 4.1 ms, eager 16 ms'
    );
  });

  it('compares nothing with a run that traced', () => {
    const long = { seconds: 1.2, eager_seconds: 1.3 };
    expect(line(tracedCell({ ...long, runs: 1 }))).toMatch(/ 1.2 s with tracing$/);
    const plain = tracedCell({ ...long, segments: [], runs: 1, eager_seconds: 1.2 });
    expect(line(plain)).toMatch(/ 1.2 s$/);
    const traces = table(trace(), trace({ id: 't2', cell: OF_LAST_RUN }));
    expect(line(tracedCell(long), { traces })).toMatch(/ 1.2 s with tracing$/);
  });

  it('compares nothing where no graph has saved or cost anything', () => {
    const cell = tracedCell({ python: [], seconds: 0.004, eager_seconds: 0.004 });
    expect(line(cell)).toMatch(/\(line 4\) 4 ms$/);
  });

  it('counts reasons that are too many for a line', () => {
    const python = Array.from({ length: 9 }, (_, n) => `line ${n} prints`);
    expect(line(tracedCell({ python }))).toContain('line 3 prints and 5 more places');
    expect(line(tracedCell({ python: python.slice(0, 5) }))).toContain('line 4 prints');
  });

  it('follows the store', async () => {
    const { store, element } = page(snapshot(state()), CHOICE);
    const next = state(tracedCell({ runs: 4, eager_seconds: 0.02 }));
    store.receive(snapshot(next, { seq: 2 }));
    await drawn();
    expect(words(element)).toContain('eager 20 ms');
  });
});

describe('what stands below the line', () => {
  it('is the cause and the remedy of a retrace of the last run', () => {
    const retraces = table(retrace({ cell: OF_LAST_RUN }));
    const element = shown(tracedCell(), { retraces });
    expect(words(one(element, '.nbfn-StatusLine'))).toContain(
      'Retraced train:4: images float32[32, 784] → float32[64, 784] 210 ms to trace'
    );
    button(element, 'Leave the batch size open');
    expect(element.querySelectorAll('.nbfn-Icon.nbfn-mod-retrace')).toHaveLength(2);
  });

  it('is nothing of an earlier run', () => {
    const element = shown(tracedCell(), { retraces: table(retrace()) });
    expect(element.querySelector('.nbfn-StatusLine')).toBeNull();
    one(element, '.nbfn-Icon.nbfn-mod-hit');
  });

  it('is what its functions are doing meanwhile', () => {
    expect(words(shown(tracedCell(), { work: table(work()) }))).toMatch(/^tracing/);
  });
});

describe('the opened view', () => {
  it('has every line with what it runs as, and the traces behind it', async () => {
    const element = shown();
    expect(element.querySelector('ol')).toBeNull();
    await open(one(element, '.nbfn-Disclosure'));
    const lines = [...element.querySelectorAll('.nbfn-Line')];
    expect(lines.map(words)).toEqual([
      '3 for x in data: a loop',
      '4 y = f(x) graph: 1 ms, eager 4 ms',
      '5 print(y) prints'
    ]);
    expect(lines.map(each => each.className.split('-').at(-1))).toEqual([
      'python',
      'graph',
      'python'
    ]);
    expect(words(one(element, '.nbfn-Row-summary'))).toContain('train:4 1 trace');
    expect(words(one(element, 'table'))).toContain('float32[32, 784]');
  });

  it('says which functions serve no more', async () => {
    const cell = tracedCell({ functions: ['f1', 'f2'] });
    const functions = table(fn(), fn({ id: 'f2', name: 'train:4-5' }));
    const element = shown(cell, { functions });
    await open(one(element, '.nbfn-Disclosure'));
    const notes = [...element.querySelectorAll('.nbfn-Row .nbfn-Note')].map(words);
    expect(notes.map(note => note.includes('not in use'))).toEqual([false, true]);
  });

  it('shows lines without code as they are, and without a text the numbers', async () => {
    const cell = tracedCell({ source: '', lines: { 2: 'prints', 4: null } });
    const element = shown(cell);
    await open(one(element, '.nbfn-Disclosure'));
    const lines = [...element.querySelectorAll('.nbfn-Line')].map(words);
    expect(lines).toEqual(['2 prints', '3', '4 graph: 1 ms, eager 4 ms']);
  });
});

describe('the panel', () => {
  it('lists cells, and their functions under them only', async () => {
    const { element } = page(
      snapshot(
        state(tracedCell(), {
          functions: table(fn({ name: 'train:4' }), fn({ id: 'f2', name: 'other' }))
        })
      ),
      { view: 'session' }
    );
    const [cells, functions] = element.querySelectorAll<HTMLElement>('.nbfn-Section');
    if (!cells || !functions) throw new Error('no sections');
    expect(words(one(cells, '.nbfn-Section-summary'))).toBe('Cells 1');
    expect(words(one(cells, '.nbfn-Row'))).toBe('train In [6] 4.1 ms · 4×');
    expect(words(one(functions, '.nbfn-Row'))).toBe('other(images, labels) 1 trace');
    await open(one(cells, '.nbfn-Row'));
    expect(words(cells)).toContain('1 graph (line 4) 3 runs 4.1 ms, eager 16 ms');
    expect(words(cells)).toContain('5 print(y) prints');
    expect(words(cells)).toContain('train:4(images, labels) 1 trace');
  });

  it('goes to the notebook cell', async () => {
    const { element } = page(snapshot(state()), { view: 'session' });
    const [cells] = element.querySelectorAll<HTMLElement>('.nbfn-Section');
    await open(one(cells ?? element, '.nbfn-Row'));
    const seen = await asked<RevealCell>(REVEAL_CELL, () =>
      press(button(element, 'In [6]'))
    );
    expect(seen.map(({ cellId }) => cellId)).toEqual(['notebook-cell']);
  });

  it('says of functions that there is no other', () => {
    const { element } = page(snapshot(state()), { view: 'session' });
    expect(words(element)).toContain('No other function has been traced yet.');
  });
});

it('shows what users wrote only ever as text', async () => {
  const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  const cell = tracedCell({
    name: evil,
    source: evil,
    lines: { 1: evil },
    sentence: evil,
    python: [evil]
  });
  for (const choice of [CHOICE, { view: 'session' } as const]) {
    const { element } = page(snapshot(state(cell)), choice);
    for (const details of element.querySelectorAll<HTMLElement>('details')) {
      await open(details);
    }
    expect(element.querySelectorAll('img, script')).toHaveLength(0);
    expect(element.textContent).toContain(evil);
  }
});

it('says that a cell is gone', () => {
  expect(words(page(snapshot(), CHOICE).element)).toBe(
    'This cell is no longer in the kernel.'
  );
});
