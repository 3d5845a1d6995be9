import { afterEach, describe, expect, it } from 'vitest';
import { legendOf } from '../../src/pictures/graph/model/colours';
import { Operations } from '../../src/pictures/graph/model/operations';
import { Frame } from '../../src/pictures/graph/model/tree';
import type { GraphRecord } from '../../src/protocol';
import { one, open, press, words } from '../page';
import type { Rest, Step } from './graphs';
import { boxOf, click, drawn, graphOf, side } from './graphs';

const STEPS: Step[] = [
  { name: 'x', type: 'Placeholder' },
  {
    name: 'dense/MatMul',
    type: 'MatMul',
    takes: ['x'],
    time: { seconds: 0.004, executions: 1, ran_as: '_FusedMatMul' }
  },
  { name: 'dense/BiasAdd', type: 'BiasAdd', takes: ['dense/MatMul'] },
  {
    name: 'dense/Relu',
    type: 'Relu',
    takes: ['dense/BiasAdd'],
    time: { seconds: 0.0002, executions: 1 }
  },
  {
    name: 'while',
    type: 'While',
    takes: ['dense/Relu'],
    calls: [1],
    time: { seconds: 0, within: 0.005, executions: 0 }
  },
  { name: 'Identity', takes: ['while'], after: ['dense/Relu'] }
];
const BODY: Step[] = [
  { name: 'arg', type: 'Placeholder' },
  { name: 'Sin', takes: ['arg'], time: { seconds: 0.005, executions: 3 } }
];
const TIMES: Rest = { times: { seconds: 0.01, others: 0.0008 } };

function button(root: Element, text: string): HTMLElement {
  const found = [...root.querySelectorAll('button')].find(each => words(each) === text);
  if (!found) throw new Error(`no button ${text}`);
  return found;
}

afterEach(() => document.body.replaceChildren());

describe('the picture of a call that was timed', () => {
  it('is coloured by time at first, with a scale, and closed scopes have their sum', async () => {
    const element = await drawn(graphOf([STEPS, BODY], TIMES));
    expect((one(element, 'select') as HTMLSelectElement).value).toBe('time');
    expect(words(one(element, '.nbfn-Graph-legend'))).toBe(
      '3 ms and more1 ms to 3 ms0.3 ms to 1 ms0.1 ms to 0.3 ms30 µs to 0.1 msless'
    );
    const dense = boxOf(element, 'dense');
    expect(words(dense)).toContain('4.2 ms');
    expect(dense.classList).toContain('nbfn-mod-heat0');
    expect(words(boxOf(element, 'While'))).toContain('5 ms');
    await click(dense, 'dblclick');
    expect(boxOf(element, 'Relu').classList).toContain('nbfn-mod-heat3');
    expect(boxOf(element, 'BiasAdd').getAttribute('class')).not.toContain('heat');
  });

  it('tells of an operation what it took, what ran in its place, and what did not', async () => {
    const element = await drawn(graphOf([STEPS, BODY], TIMES));
    await click(boxOf(element, 'dense'));
    expect(side(element)).toContain('4.2 ms, 42 %');
    await click(boxOf(element, 'dense'), 'dblclick');
    await click(boxOf(element, 'MatMul'));
    expect(side(element)).toContain('time 4 ms, 40 %ran as _FusedMatMul');
    await click(boxOf(element, 'BiasAdd'));
    expect(side(element)).toContain('It did not run itself');
    await click(boxOf(element, 'While'));
    expect(side(element)).toContain('time 5 ms, 50 % in what it calls');
  });

  it('lists the slowest, says what is not known, and leads to each', async () => {
    const element = await drawn(graphOf([STEPS, BODY], TIMES));
    expect(side(element)).toContain('What ran took 10 ms together');
    expect(side(element)).toContain('Of that 0.8 ms, 8 % in operations');
    expect(side(element)).toMatch(/slowest Sin 5 ms.*dense\/MatMul 4 ms.*Relu 0.2 ms/);
    await press(button(element, 'Sin'));
    expect(side(element)).toContain('5 ms, 50 %, 3 executions');
    const list = [...element.querySelectorAll<HTMLElement>('details')].at(-1);
    if (!list) throw new Error('no list');
    await open(list);
    expect(words(list)).toContain('3 operations, 4.2 ms');
  });

  it('has steps of times that fit the longest', () => {
    const values = (seconds: number): readonly string[] => {
      const step = { name: 'a', time: { seconds, executions: 1 } };
      return legendOf(new Operations(graphOf([[step]], TIMES)), 'time').values;
    };
    expect(values(0.003)[0]).toBe('3 ms and more');
    expect(values(0.0029)[0]).toBe('1 ms and more');
    expect(values(12)[1]).toBe('3 s to 10 s');
    expect(values(0)).toEqual([]);
  });
});

describe('lines to operations that only wait', () => {
  it('are dotted, and drawn at first if they are few', async () => {
    const element = await drawn(graphOf([STEPS, BODY]));
    const dotted = () => element.querySelectorAll('.nbfn-mod-control').length;
    expect(dotted()).toBe(1);
    const choice = checkbox(element, 'Order');
    await click(choice);
    expect(dotted()).toBe(0);
    await click(boxOf(element, 'Identity'));
    expect(side(element)).toContain('after dense/Relu Relu');
  });

  it('are off at first if they are many, and bring what only orders others', async () => {
    const many: Step[] = Array.from({ length: 12 }, (_, n) => ({
      name: `Assert_${n}`,
      after: n > 0 ? [`Assert_${n - 1}`] : []
    }));
    const last: Step = { name: 'NoOp', after: ['Assert_11'] };
    const element = await drawn(graphOf([[...many, last]]));
    const titles = (): string => words(one(element, '.nbfn-Graph-canvas'));
    expect(titles()).not.toContain('NoOp');
    await click(checkbox(element, 'Order'));
    expect(titles()).toContain('NoOp');
    expect(element.querySelectorAll('.nbfn-mod-control')).toHaveLength(12);
  });

  it('are not offered where nothing waits', async () => {
    const element = await drawn(
      graphOf([[{ name: 'a' }, { name: 'b', takes: ['a'] }]])
    );
    expect(() => checkbox(element, 'Order')).toThrow();
  });
});

const SIDES: Rest = {
  sides: ['trace 1', 'trace 2'],
  removed: [1],
  added: [2],
  inputs: [0],
  changed: { 3: ['inputs: old → new'], 4: ['value: 2 → 3'] }
};
const BOTH: Step[] = [
  { name: 'x', type: 'Placeholder' },
  { name: 'old', type: 'Old', takes: ['x'] },
  { name: 'new', type: 'New', takes: ['x'] },
  { name: 'after', type: 'After', takes: ['new'] },
  { name: 'n', type: 'Const', value: '3' }
];

describe('two graphs side by side', () => {
  function differing(): GraphRecord {
    const record = graphOf([BOTH], SIDES);
    const [part] = record.parts;
    const at = (number: number) => ({
      type: part?.types[number] ?? 0,
      outputs: part?.outputs[number] ?? [],
      device: 0
    });
    const before = {
      3: { ...at(3), inputs: [1, 0] },
      4: { ...at(4), inputs: [], value: '2' }
    };
    return { ...record, before };
  }

  async function beside(): Promise<[HTMLElement, HTMLElement[]]> {
    const element = await drawn(differing());
    await press(button(element, 'Side by side'));
    const panes = [...element.querySelectorAll<HTMLElement>('.nbfn-Graph-pane')];
    return [element, panes];
  }

  it('is so large that words can be read, at what differs', async () => {
    const wide = Array.from({ length: 30 }, (_, n) => ({
      name: `op_${n}`,
      type: n === 29 ? 'Last' : 'A_long_name_of_an_operation',
      takes: ['x']
    }));
    const steps = [{ name: 'x' }, ...wide];
    const element = await drawn(
      graphOf([steps], { sides: ['trace 1', 'trace 2'], added: [30] })
    );
    await press(button(element, 'Side by side'));
    const [, content] = element.querySelectorAll('.nbfn-Graph-canvas > g');
    const view = /^translate\((\S+) \S+\) scale\((\S+)\)$/;
    const [, x, scale] = view.exec(content?.getAttribute('transform') ?? '') ?? [];
    expect(Number(scale)).toBeGreaterThanOrEqual(0.6);
    const place = boxOf(element, 'Last').getAttribute('transform') ?? '';
    const [, left] = /^translate\((\S+) /.exec(place) ?? [];
    const seenAt = Number(x) + Number(left) * Number(scale);
    expect(seenAt).toBeGreaterThan(0);
    expect(seenAt).toBeLessThan(600);
    await press(button(element, 'Fit'));
    const whole = content?.getAttribute('transform') ?? '';
    expect(Number(view.exec(whole)?.[2])).toBeLessThan(0.6);
    await click(boxOf(element, 'Last'));
    expect(content?.getAttribute('transform')).toBe(whole);
  });

  it('has what each has, with the marks of what differs', async () => {
    const [, [left, right]] = await beside();
    const titles = (pane?: HTMLElement): string[] =>
      [...(pane?.querySelectorAll('.nbfn-Graph-title') ?? [])].map(words).sort();
    expect(titles(left)).toEqual(['2', 'After', 'Old', 'x']);
    expect(titles(right)).toEqual(['3', 'After', 'New', 'x']);
    expect(words(left ?? document.body)).toContain('trace 1');
    expect(boxOf(left ?? document.body, 'Old').classList).toContain('nbfn-mod-removed');
    expect(boxOf(right ?? document.body, 'After').classList).toContain(
      'nbfn-mod-changed'
    );
    expect(left?.querySelectorAll('.nbfn-Graph-line')).toHaveLength(2);
  });

  it('selects, moves and finds in both at once, and is one again', async () => {
    const [element, panes] = await beside();
    const [first, second] = panes;
    if (!first || !second) throw new Error('no panes');
    await click(boxOf(first, 'After'));
    expect(element.querySelectorAll('.nbfn-Graph-box.nbfn-mod-selected')).toHaveLength(
      2
    );
    expect(side(element)).toContain('takes old');
    await click(boxOf(second, 'After'));
    expect(side(element)).toContain('takes new');
    await click(button(element, '+'));
    const views = panes.map(pane =>
      pane.querySelector('.nbfn-Graph-canvas > g')?.getAttribute('transform')
    );
    expect(views[0]).toBe(views[1]);
    await press(button(element, 'Differences'));
    expect(words(one(element, '.nbfn-Graph-steps [role=status]'))).toBe('1 of 4');
    expect(side(element)).toContain('removed: only in trace 1');
    await press(button(element, '›'));
    expect(side(element)).toContain('added: only in trace 2');
    await press(button(element, 'Merged'));
    expect(element.querySelectorAll('.nbfn-Graph-canvas')).toHaveLength(1);
    expect(words(boxOf(element, '2 → 3'))).toContain('≠');
  });

  it('leaves out what the other has alone', () => {
    const graph = new Operations(differing(), 'first');
    const { root } = new Frame(graph, 0);
    expect(root.operations.map(({ name }) => name)).toEqual(['x', 'old', 'after', 'n']);
    expect(graph.all).toHaveLength(4);
    const [x] = graph.of(0);
    if (!x) throw new Error('no x');
    expect(graph.takers(x).map(({ name }) => name)).toEqual(['old']);
  });
});

function checkbox(element: Element, text: string): HTMLElement {
  const label = [...element.querySelectorAll('label')].find(
    each => words(each).trim() === text
  );
  const found = label?.querySelector<HTMLElement>('input');
  if (!found) throw new Error(`no choice ${text}`);
  return found;
}
