import { describe, expect, it } from 'vitest';
import type { Page, PageTable } from '../../src/protocol';
import type { InsertCell, RevealCell } from '../../src/views';
import { INSERT_CELL, REVEAL_CELL } from '../../src/views';
import { asked, button, one, open, page as view, press, type, words } from '../page';
import { snapshot } from '../records';

const [TITLE, ROWS, DEVICE] = ['title', 'rows', 'CPU:0'];
const HOSTILE = '<img src=x onerror=alert(1)>';

function table(values: Partial<PageTable> = {}): PageTable {
  return {
    title: ROWS,
    header: ['name', 'one', 'two'],
    rows: [['a', '1', '2']],
    total: 1,
    open: true,
    ...values
  };
}

function shown(values: Partial<Page>): HTMLElement {
  const page = {
    title: TITLE,
    lines: [],
    tables: [],
    groups: [],
    open: false,
    ...values
  };
  return view(snapshot(), { view: 'page', page }).element;
}

describe('a page', () => {
  it('leads to pages of the documentation, and nowhere else', () => {
    const [link] = [
      ...shown({
        lines: [{ text: 'why', page: 'https://docs.example/#a' }]
      }).querySelectorAll('a')
    ];
    expect([link?.href, link?.target, link?.rel, link?.textContent]).toEqual([
      'https://docs.example/#a',
      '_blank',
      'noopener',
      '?'
    ]);
    const hostile = shown({ lines: [{ text: 'why', page: 'javascript:alert(1)' }] });
    expect(hostile.querySelector('a')).toBeNull();
    expect(words(hostile)).toContain('why');
  });

  it('calls a place as the kernel does', () => {
    const place = { text: 'In [7], line 3', cell: { id: 'a', execution_count: 5 } };
    expect(words(one(shown({ lines: [place] }), '.nbfn-Page-line button'))).toBe(
      'In [7], line 3'
    );
  });

  it('has the whole of a long sentence when it is asked for', async () => {
    const long = `${'word '.repeat(30)}\`end\``;
    const element = shown({ lines: [long, 'short'] });
    expect(words(one(element, '.nbfn-mod-cut'))).toContain('word end');
    const more = button(element, 'more');
    await press(more);
    expect(element.querySelector('.nbfn-mod-cut')).toBeNull();
    expect(more.getAttribute('aria-expanded')).toBe('true');
    await press(button(element, 'less'));
    expect(element.querySelector('.nbfn-mod-cut')).not.toBeNull();
  });

  it('shows everything as text, and code as code', () => {
    const element = shown({
      title: `\`f\` ${HOSTILE}`,
      lines: [HOSTILE],
      tables: [table({ title: HOSTILE, rows: [[HOSTILE, { text: HOSTILE }, '`x`']] })]
    });
    expect(element.querySelector('img')).toBeNull();
    expect(words(element).split(HOSTILE)).toHaveLength(6);
    expect([...element.querySelectorAll('code')].map(words)).toEqual(['f', 'x']);
  });

  it('has its parts folded, and draws them when they are opened', async () => {
    const group = {
      title: DEVICE,
      lines: [],
      tables: [table()],
      groups: [],
      open: false
    };
    const element = shown({ groups: [group] });
    expect(words(element)).toBe('title CPU:0');
    await open(one(element, 'details.nbfn-PageGroup'));
    expect(words(one(element, 'tbody'))).toBe('a12');
  });

  it('puts the code of a remedy into a cell after the one that needs it', async () => {
    const cell = { id: 'cell-1' };
    const element = shown({ lines: [{ text: 'Relax `f`', code: 'f.relax()', cell }] });
    const seen = await asked<InsertCell>(INSERT_CELL, () =>
      press(button(element, 'Relax f'))
    );
    expect(seen).toEqual([{ code: 'f.relax()', cellId: 'cell-1' }]);
  });

  it('leads to the cell of a place', async () => {
    const where = {
      text: 'In [3], line 2',
      cell: { id: 'cell-7', execution_count: 3, line: 2 }
    };
    const element = shown({ tables: [table({ rows: [[where, '1', '2']] })] });
    const seen = await asked<RevealCell>(REVEAL_CELL, () =>
      press(button(element, 'In [3], line 2'))
    );
    expect(seen).toEqual([{ cellId: 'cell-7', line: 2 }]);
    const file = { text: 'train.py, line 2', cell: { file: 'train.py', line: 2 } };
    const plain = shown({ tables: [table({ rows: [[file, '1', '2']] })] });
    expect(plain.querySelector('button')).toBeNull();
    expect(words(plain)).toContain('train.py, line 2');
  });

  it('marks the sides that differ', () => {
    const rows = [
      ['a', '1', '2'],
      ['b', '3', '3'],
      ['c', '', '4'],
      ['d', '5', '']
    ];
    const marked = (kind: 'plain' | 'sides'): string[][] => {
      const element = shown({ tables: [table({ rows, kind })] });
      return ['before', 'after'].map(side =>
        [...element.querySelectorAll(`td.nbfn-mod-${side}`)].map(words)
      );
    };
    expect(marked('sides')).toEqual([
      ['1', '5'],
      ['2', '4']
    ]);
    expect(marked('plain')).toEqual([[], []]);
  });

  it('shows a long table in steps, finds rows, and counts those that are not there', async () => {
    const rows = Array.from({ length: 200 }, (_, n) => [`op_${n}`, 'Mul', '']);
    const element = shown({ tables: [table({ rows, total: 1713 })] });
    const count = () => element.querySelectorAll('tbody tr').length;
    expect(count()).toBe(20);
    expect(words(element)).toContain('1,713');
    expect(words(element)).toContain('The first 200 are here; and 1,513 more.');
    await type(one(element, 'input'), 'op_19');
    expect(count()).toBe(11);
  });
});
