import { describe, expect, it } from 'vitest';
import type { PageTable } from '../../src/protocol';
import { button, page, press, type, words } from '../page';
import { snapshot } from '../records';

const [NAMES, TITLE] = ['names', 'title'];

/** A table as it is drawn on a page. */
function shown(values: Partial<PageTable>): HTMLElement {
  const table = {
    title: NAMES,
    header: ['name', 'what', 'size'],
    rows: [],
    total: values.rows?.length ?? 0,
    open: true,
    ...values
  };
  const drawn = { title: TITLE, lines: [], tables: [table], groups: [], open: false };
  return page(snapshot(), { view: 'page', page: drawn }).element;
}

function names(element: HTMLElement): string[] {
  return [...element.querySelectorAll('tbody tr')].map(row =>
    words(row.firstElementChild ?? row)
  );
}

const TREE: Partial<PageTable> = {
  kind: 'tree',
  rows: [
    ['model', '3 variables', '412 kB'],
    ['hidden', '2 variables', '402 kB'],
    ['kernel', 'float32[784, 128]', '401 kB'],
    ['bias', 'float32[128]', '512 B'],
    ['scale', 'float32[2500]', '10 kB'],
    ['adam', '1 variable', '8 B'],
    ['step', 'int64[]', '8 B']
  ],
  depths: [0, 1, 2, 2, 1, 0, 1],
  closed: [5]
};

describe('a column', () => {
  it('of times, sizes or shares is one of numbers, and of others is not', () => {
    const rows = [
      ['59 %', '0.1 ms', '1.5 kB', '2 h 10 min', '3 traces'],
      ['< 1 %', '12 s', '8 B', '45 s', '1 trace']
    ];
    const element = shown({ header: ['a', 'b', 'c', 'd', 'e'], rows });
    expect(
      [...element.querySelectorAll('thead th')].map(({ className }) => className)
    ).toEqual([...Array<string>(4).fill('nbfn-mod-number'), '']);
  });
});

describe('a row with many details', () => {
  it('shows them in a narrow view when they are asked for', async () => {
    const header = ['#', 'signature', 'to trace', 'size', 'where'];
    const rows = [['1', 'x: float32[2]', '9 ms', '2 kB', 'In [2]']];
    const element = shown({ header, rows, details: [2, 3, 4] });
    const row = () => element.querySelector('tbody tr');
    expect(row()?.className).toBe('nbfn-mod-brief');
    expect(
      [...element.querySelectorAll('[data-detail]')].map(cell =>
        cell.getAttribute('data-column')
      )
    ).toEqual(header.slice(2));
    await press(button(element, 'more'));
    expect(row()?.className).toBe('');
    await press(button(element, 'less'));
    expect(row()?.className).toBe('nbfn-mod-brief');
  });

  it('has no button without any, or if they are empty', () => {
    const element = shown({ header: ['#', 'size'], rows: [['1', '']], details: [1] });
    expect(element.querySelector('.nbfn-Table-more')).toBeNull();
  });
});

describe('a tree', () => {
  it('has parts that open and close, some of which are closed at first', async () => {
    const element = shown(TREE);
    const open = ['model', 'hidden', 'kernel', 'bias', 'scale', 'adam'];
    expect(names(element)).toEqual(open);
    await press(button(element, 'adam'));
    expect(names(element)).toEqual([...open, 'step']);
    await press(button(element, 'hidden'));
    expect(names(element)).toEqual(['model', 'hidden', 'scale', 'adam', 'step']);
    expect(button(element, 'hidden').getAttribute('aria-expanded')).toBe('false');
  });

  it('is a list of whole paths while it is sorted', async () => {
    const element = shown(TREE);
    const sort = button(element, 'size');
    await press(sort);
    expect(names(element)).toEqual([
      'model/hidden/kernel',
      'model/scale',
      'model/hidden/bias',
      'adam/step'
    ]);
    await press(sort);
    await press(sort);
    expect(names(element)[0]).toBe('model');
  });

  it('finds what is closed, by its path', async () => {
    const parts = Array.from({ length: 50 }, (_, n) => [
      [`block_${n}`, '1 variable', ''],
      ['kernel', 'float32[]', '']
    ]).flat();
    const depths = parts.map((_, n) => n % 2);
    const tree = shown({
      kind: 'tree',
      rows: [['net', '', ''], ...parts],
      depths: [0, ...depths.map(depth => depth + 1)]
    });
    expect(names(tree)).toHaveLength(50);
    expect(names(tree)).not.toContain('kernel');
    const field = tree.querySelector('input');
    if (!field) throw new Error('no field');
    await type(field, 'block_7 kernel');
    expect(names(tree)).toEqual(['net/block_7/kernel']);
  });

  it('says how large a number is beside the largest', () => {
    const element = shown(TREE);
    const shares = [...element.querySelectorAll<HTMLElement>('.nbfn-Bar')].map(bar =>
      bar.style.getPropertyValue('--nbfn-share')
    );
    expect(shares.slice(0, 3)).toEqual(['100.0%', '97.6%', '97.3%']);
  });
});

describe('a table', () => {
  it('leaves out columns in which there is nothing, and sorts by the others', async () => {
    const element = shown({
      rows: [
        ['a', '', '9 ms'],
        ['b', '', '1.2 s']
      ]
    });
    const header = () => [...element.querySelectorAll('thead th')].map(words);
    expect(header()).toEqual(['name', 'size']);
    expect(element.querySelectorAll('tbody tr:first-child td')).toHaveLength(2);
    await press(button(element, 'size'));
    expect(names(element)).toEqual(['b', 'a']);
  });

  it('has sides that stand below their names, also where one is empty', () => {
    const rows = [
      ['Mul', '', '1'],
      ['Sub', '', '2']
    ];
    const element = shown({ kind: 'sides', rows });
    expect([...element.querySelectorAll('thead th')].map(words)).toHaveLength(3);
    expect(element.querySelector('.nbfn-mod-number')).toBeNull();
    expect(element.querySelectorAll('td.nbfn-mod-after')).toHaveLength(2);
  });
});
