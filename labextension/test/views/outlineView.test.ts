import { act } from 'preact/test-utils';
import { describe, expect, it, vi } from 'vitest';
import type { Page, Rows } from '../../src/protocol';
import type { RevealCell } from '../../src/views';
import { REVEAL_CELL } from '../../src/views';
import { asked, button, drawn, one, open, page, press, section, words } from '../page';
import { fn, outline, snapshot, table, tracedCell, work } from '../records';

const [RETRACES, LINES] = ['retraces', 'lines'];
const CHOICE = { view: 'function', target: 'f1' } as const;

function shown(values: Partial<Page> = {}, state: Rows = {}) {
  const pages = { f1: outline(values) };
  return page(snapshot({ functions: table(fn()), ...state }, { pages }), CHOICE);
}

function order(element: HTMLElement): string[] {
  return [...element.querySelectorAll('tbody tr')].map(row =>
    words(row.firstElementChild ?? row)
  );
}

describe('work that is under way', () => {
  it('stands above the outline, with how far it is', () => {
    const { element } = shown({}, { work: table(work()) });
    const bar = one(element, 'progress') as HTMLProgressElement;
    expect([bar.value, bar.max, bar.getAttribute('aria-label')]).toEqual([
      50,
      150,
      'train_step'
    ]);
    expect(words(element)).toMatch(/^tracing train_step.*retraced/);
  });

  it('takes the place of the outline while the first trace is made', () => {
    const idle = { call: 'idle', status: 'not called yet' } as const;
    const { element } = shown(idle, { work: table(work({ total: null })) });
    expect((one(element, 'progress') as HTMLProgressElement).position).toBe(-1);
    expect(words(element)).not.toContain('not called yet');
  });

  it('is left out where it belongs to another function', () => {
    const { element } = shown({}, { work: table(work({ function: 'f2' })) });
    expect(element.querySelector('progress')).toBeNull();
  });

  it('is what the functions of a cell are doing', () => {
    const state = { cells: table(tracedCell()), work: table(work()) };
    const pages = { 'cell-1': outline() };
    const { element } = page(snapshot(state, { pages }), {
      view: 'cell',
      target: 'cell-1'
    });
    expect(element.querySelector('progress')).not.toBeNull();
  });
});

describe('the outline of a function', () => {
  it('says what the last call was, why, what it took, and what to do', () => {
    const { element } = shown();
    expect(words(one(element, '.nbfn-Page-call'))).toMatch(
      /train_step\(images, labels\) retraced: images: shape was .* \? 312 ms to trace In \[5\], line 3$/
    );
    expect(one(element, '.nbfn-Page-call a').getAttribute('href')).toContain('#shape');
    expect(words(one(element, '.nbfn-Page-call [role=status]'))).toMatch(
      /^train_step.*: retraced/
    );
    expect(button(element, 'Leave the batch size open').title).toContain('relax()');
  });

  it('tells screen readers of retraces only', () => {
    const { element } = shown({
      call: 'hit',
      status: 'hit: trace 2 served',
      lines: []
    });
    expect(element.querySelector('.nbfn-Page-call [role=status]')).toBeNull();
  });

  it('has its tables behind one line, drawn when it is opened', async () => {
    const { element } = shown();
    expect(element.querySelector('table')).toBeNull();
    const fold = one(element, '.nbfn-Disclosure');
    expect(words(fold)).toBe('2 calls, 0 hits, 2 traces, 1 retrace');
    await open(fold);
    expect(order(element)).toEqual(['2', '1']);
    expect(words(fold)).toContain('captures 1');
  });

  it('sends the host to a cell', async () => {
    const { element } = shown();
    const seen = await asked<RevealCell>(REVEAL_CELL, () =>
      press(button(element, 'In [5], line 3'))
    );
    expect(seen).toEqual([{ cellId: 'cell-3', line: 3 }]);
  });

  it('sorts by a column, times by how long they are', async () => {
    const { element } = shown();
    await open(one(element, '.nbfn-Disclosure'));
    const sort = button(element, 'to trace');
    await press(sort);
    expect(order(element)).toEqual(['1', '2']);
    expect(sort.closest('th')?.getAttribute('aria-sort')).toBe('descending');
    await press(sort);
    expect(order(element)).toEqual(['2', '1']);
    await press(button(element, 'signature'));
    expect(order(element)).toEqual(['1', '2']);
  });

  it('follows the kernel, and keeps what is open', async () => {
    const { element, store } = shown();
    await open(one(element, '.nbfn-Disclosure'));
    await open(one(element, '.nbfn-PageTable:last-of-type'));
    const [traces, captures] = outline().tables;
    if (!traces || !captures) throw new Error('no tables');
    const retraces = { ...traces, title: RETRACES, header: ['#', 'cause', 'a', 'b'] };
    const now = outline({
      call: 'hit',
      status: 'hit: trace 2 served',
      lines: [],
      summary: '3 calls, 1 hit, 2 traces, 1 retrace',
      tables: [traces, retraces, captures]
    });
    store.receive({ type: 'pages', epoch: 'epoch-1', pages: { f1: now } });
    await drawn();
    expect(words(element)).toContain('hit: trace 2 served');
    expect(words(element)).toContain('3 calls, 1 hit');
    expect(words(element)).toContain('model/hidden/kernel');
  });

  it('says when the function is no more', async () => {
    const { element, store } = shown();
    store.receive({ type: 'pages', epoch: 'epoch-1', pages: { f1: null } });
    await drawn();
    expect(words(element)).toBe('It is no longer in the kernel.');
  });
});

describe('what is looked at', () => {
  it('is asked for while it is open and seen, and no longer', async () => {
    const look = vi.fn<(targets: string[]) => void>();
    const { element, mounted } = page(
      snapshot({ functions: table(fn()) }),
      { view: 'session' },
      { setTargets: look }
    );
    await drawn();
    const others = look.mock.lastCall?.[0] ?? [];
    expect(others).not.toContain('f1');
    const row = one(section(element, 'Functions'), '.nbfn-Row');
    await open(row);
    expect(look).toHaveBeenLastCalledWith([...others, 'f1']);
    mounted.setActive(false);
    await drawn();
    expect(look).toHaveBeenLastCalledWith([]);
    mounted.setActive(true);
    await drawn();
    expect(look).toHaveBeenLastCalledWith([...others, 'f1']);
    await act(async () => {
      (row as HTMLDetailsElement).open = false;
      row.dispatchEvent(new Event('toggle'));
      await drawn();
    });
    expect(look).toHaveBeenLastCalledWith(others);
  });
});

it('shows the lines of a cell, with what runs as a graph', async () => {
  const lines = {
    title: LINES,
    header: ['line', 'runs as', 'why', 'text', 'time'],
    rows: [
      ['3', 'Python', 'a loop', 'for x in data:', ''],
      ['4', 'graph', '', '    y = f(x)', '1 ms, eager 4 ms'],
      ['5', '', '', '    # <b>', '']
    ],
    total: 3,
    open: true,
    kind: 'code' as const
  };
  const { element } = shown({ tables: [lines] });
  await open(one(element, '.nbfn-Disclosure'));
  const drawnLines = [...element.querySelectorAll('.nbfn-Line')];
  expect(drawnLines.map(words)).toEqual([
    '3 for x in data: a loop',
    '4 y = f(x) graph: 1 ms, eager 4 ms',
    '5 # <b>'
  ]);
  expect(drawnLines.map(each => each.className.split('-').at(-1))).toEqual([
    'python',
    'graph',
    'blank'
  ]);
});
