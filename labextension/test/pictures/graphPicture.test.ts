import { act } from 'preact/test-utils';
import { afterEach, describe, expect, it } from 'vitest';
import { plain } from '../../src/pictures/graph/canvas/svgFile';
import type { InsertCell, RevealCell } from '../../src/views';
import { INSERT_CELL, REVEAL_CELL } from '../../src/views';
import { asked, one, open, press, type, words } from '../page';
import type { Rest, Step } from './graphs';
import { boxOf, click, drawn, graphOf, side } from './graphs';

const HOSTILE = '<img src=x onerror=alert(1)>\u202e';
const STEPS: Step[] = [
  { name: 'x', type: 'Placeholder', results: ['float32[2, 3]'] },
  { name: 'w', type: 'Placeholder', results: ['resource[]'] },
  { name: 'dense/read', type: 'ReadVariableOp', takes: ['w'], place: 1 },
  { name: 'dense/MatMul', type: 'MatMul', takes: ['x', 'dense/read'], place: 1 },
  { name: 'dense/Relu', type: 'Relu', takes: ['dense/MatMul'], place: 2 },
  {
    name: 'top',
    type: 'TopKV2',
    takes: ['dense/Relu'],
    results: ['float32[2, 1]', 'int32[2, 1]']
  },
  { name: 'Identity', takes: ['top'], device: 'GPU:0' }
];
const REST: Rest = { inputs: [0], outputs: [6], captures: { 1: 'model/kernel' } };

function titles(element: HTMLElement): string[] {
  return [...element.querySelectorAll('.nbfn-Graph-title')].map(words);
}

async function key(element: HTMLElement, ...names: string[]): Promise<void> {
  for (const name of names) {
    await act(() => {
      const event = new KeyboardEvent('keydown', { key: name, bubbles: true });
      one(element, 'svg.nbfn-Graph-canvas').dispatchEvent(event);
    });
  }
}

function buttonSaying(root: Element, text: string): HTMLElement {
  const found = [...root.querySelectorAll('button')].find(each => words(each) === text);
  if (!found) throw new Error(`no button ${text}`);
  return found;
}

afterEach(() => document.body.replaceChildren());

describe('the picture of a graph', () => {
  it('has scopes closed, and opens them in place', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    expect(titles(element)).toEqual([
      'x',
      'model/kernel',
      'dense',
      'TopKV2',
      'Identity'
    ]);
    expect(words(boxOf(element, 'dense'))).toContain('3 operations');
    await click(boxOf(element, 'dense'), 'dblclick');
    expect(titles(element)).toContain('MatMul');
    expect(boxOf(element, 'dense').classList).toContain('nbfn-mod-open');
    await click(one(boxOf(element, 'dense'), '[data-opener]'));
    expect(titles(element)).not.toContain('MatMul');
  });

  it('tells the facts about an operation, and leads to its line', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    expect(side(element)).toContain('captures model/kernel');
    await click(boxOf(element, 'dense'), 'dblclick');
    await click(boxOf(element, 'MatMul'));
    expect(side(element)).toContain('dense/MatMul');
    expect(side(element)).toContain('x float32[2, 3]');
    expect(side(element)).toContain('goes to dense/Relu');
    const seen = await asked<RevealCell>(REVEAL_CELL, () =>
      press(buttonSaying(element, 'In [4], line 2'))
    );
    expect(seen).toEqual([{ cellId: 'cell-1', line: 2 }]);
    await click(boxOf(element, 'Identity'));
    expect(side(element)).toContain('device GPU:0');
  });

  it('marks the operations of a line, also in boxes that are closed', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    await press(buttonSaying(element, 'mark 2'));
    const marked = [...element.querySelectorAll('.nbfn-mod-found')].map(box =>
      words(one(box, '.nbfn-Graph-title'))
    );
    expect(marked).toEqual(['ReadVariableOp', 'MatMul']);
    expect(words(one(element, '.nbfn-Graph-steps [role=status]'))).toBe('1 of 2');
  });

  it('finds by name and by pattern, opens what is around, and goes on', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    const field = one(element, 'input[type=search]');
    await type(field, 'mat');
    expect(one(element, '.nbfn-mod-selected.nbfn-Graph-box').textContent).toContain(
      'MatMul'
    );
    await type(field, 'dense/*');
    const status = () => words(one(element, '.nbfn-Graph-steps [role=status]'));
    expect(status()).toBe('1 of 3');
    await press(buttonSaying(element, '‹'));
    expect(status()).toBe('3 of 3');
    expect(side(element)).toContain('dense/Relu');
    await type(field, 'nothing');
    expect(status()).toBe('none found');
  });

  it('is used with the keyboard', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    await key(element, 'ArrowDown', 'ArrowDown');
    expect(side(element)).toContain('3 operations open');
    await key(element, 'Enter', 'ArrowDown', 'ArrowDown');
    expect(titles(element)).toContain('MatMul');
    expect(words(one(element, '.nbfn-mod-unseen'))).toMatch(/dense\//);
    await key(element, 'Escape');
    expect(side(element)).toContain('Choose an operation');
  });

  it('puts a cell that carves what was chosen', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    const choose = async (title: string, name: string, at = 0): Promise<void> => {
      await click(boxOf(element, title));
      const buttons = [...element.querySelectorAll<HTMLElement>('.nbfn-Graph-end')];
      await press(buttons.filter(each => words(each) === name)[at] ?? element);
    };
    await choose('x', 'input');
    await choose('TopKV2', 'output', 1);
    const bar = one(element, '.nbfn-Graph-carving');
    expect(words(bar)).toContain('inputs x outputs top:1');
    const seen = await asked<InsertCell>(INSERT_CELL, () =>
      press(buttonSaying(bar, 'Carve this part into a function'))
    );
    expect(seen).toEqual([
      { code: 'carved = f.traces[0].carve(["x"], ["top:1"])\ncarved' }
    ]);
    await choose('TopKV2', 'input', 1);
    expect(words(bar)).toContain('inputs x, top:1 outputs –');
  });

  it('offers files: a drawing, and cells that write the graph', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    const seen = await asked<InsertCell>(INSERT_CELL, async () => {
      await press(buttonSaying(element, 'GraphDef'));
      await press(buttonSaying(element, 'Model Explorer'));
    });
    expect(seen.map(({ code }) => code)).toEqual([
      '%tf_graph f --trace 1 --save f-trace-1.pbtxt',
      '%tf_graph f --trace 1 --save f-trace-1.json'
    ]);
    expect(plain('color(srgb 0.5 0 1 / 0.25)')).toBe('rgba(128, 0, 255, 0.25)');
    expect(plain('rgb(1, 2, 3)')).toBe('rgb(1, 2, 3)');
  });

  it('tells what the colours stand for', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    const legend = one(element, '.nbfn-Graph-legend');
    expect(words(legend)).toBe('ReadVariableOpMatMulReluTopKV2');
    const select = one(element, 'select') as HTMLSelectElement;
    expect([...select.options].map(({ value }) => value)).toEqual([
      'type',
      'device',
      'nothing'
    ]);
    await act(() => {
      select.value = 'device';
      select.dispatchEvent(new Event('change', { bubbles: true }));
    });
    expect(words(legend)).toBe('GPU:0');
  });

  it('marks differences with signs, and goes through them', async () => {
    const sides = { sides: ['trace 1', 'trace 2'], removed: [4], added: [6] };
    const changed = { 5: ['k: 1 → 2'] };
    const element = await drawn(graphOf([STEPS], { ...REST, ...sides, changed }));
    expect(words(boxOf(element, 'dense'))).toContain('−1');
    expect(words(boxOf(element, 'TopKV2'))).toContain('≠');
    await press(buttonSaying(element, 'Differences'));
    expect(side(element)).toContain('removed: only in trace 1');
    await press(buttonSaying(element, '›'));
    expect(side(element)).toContain('k: 1 → 2');
    expect(element.querySelector('.nbfn-Graph-end')).toBeNull();
  });

  it('is a list in words for who cannot see it', async () => {
    const element = await drawn(graphOf([STEPS], REST));
    const list = [...element.querySelectorAll<HTMLElement>('details')].at(-1);
    if (!list) throw new Error('no list');
    await open(list);
    const [scope] = list.querySelectorAll<HTMLElement>('details');
    if (!scope) throw new Error('no scope');
    await open(scope);
    expect(words(scope)).toContain('MatMul MatMul float32[2]');
    await press(buttonSaying(scope, 'MatMul'));
    expect(side(element)).toContain('dense/MatMul');
  });

  it('says how much is left out, and what to do if there is nothing', async () => {
    const cut = await drawn(graphOf([STEPS], { ...REST, total: 1007 }));
    expect(side(cut)).toContain(
      'The first 7 are kept in the notebook and drawn; 1,000 are left out.'
    );
    const empty = await drawn(graphOf([[]]));
    expect(words(empty)).toContain('This graph is empty');
  });

  it('shows everything as text', async () => {
    const step = { name: HOSTILE, type: HOSTILE, results: [HOSTILE] };
    const element = await drawn(graphOf([[step]], { title: HOSTILE }));
    await click(one(element, '.nbfn-Graph-box'));
    expect(element.querySelector('img')).toBeNull();
    expect(element.textContent).not.toContain('\u202e');
    expect(side(element)).toContain('<img src=x onerror=alert(1)>\\u202e');
  });
});
