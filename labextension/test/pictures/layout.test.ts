import { describe, expect, it } from 'vitest';
import type { Picture } from '../../src/pictures/graph/model/layout';
import { Layout } from '../../src/pictures/graph/model/layout';
import { neighbour } from '../../src/pictures/graph/model/moves';
import { Operations } from '../../src/pictures/graph/model/operations';
import { Frame } from '../../src/pictures/graph/model/tree';
import type { Rest, Step } from './graphs';
import { chain, graphOf } from './graphs';

const SCOPED: Step[] = [
  { name: 'x' },
  { name: 'a/one', takes: ['x'], results: ['float32[2]', 'int32[]'] },
  { name: 'a/two', takes: ['a/one:1'] },
  { name: 'a/three', takes: ['a/two'] },
  { name: 'y', takes: ['a/three', 'a/one', 'x'] }
];

function drawing(parts: Step[][], rest: Rest = {}) {
  const root = new Frame(new Operations(graphOf(parts, rest)), 0).root;
  const layout = new Layout(root, text => text.length * 6);
  return (...open: string[]): Picture =>
    layout.draw(new Set(open), { labels: true, controls: false, times: false });
}

function flows({ lines }: Picture): string[] {
  return lines.map(({ edge: { from, to } }) => `${from.label} > ${to.label}`).sort();
}

function box(picture: Picture, label: string) {
  const found = picture.boxes.find(({ node }) => node.label === label);
  if (!found) throw new Error(`no box ${label}`);
  return found;
}

describe('the layout of a graph', () => {
  it('draws what flows to and from a closed box once, and tells dtype and shape', () => {
    const picture = drawing([SCOPED])();
    expect(flows(picture)).toEqual(['a > y', 'x > a', 'x > y']);
    expect(picture.labels.map(({ text }) => text).sort()).toEqual([
      '2 × float32[2]',
      'float32[2]',
      'float32[2]'
    ]);
  });

  it('draws what is in an open box within its borders', () => {
    const picture = drawing([SCOPED])('sa');
    expect(flows(picture)).toEqual([
      'one > two',
      'one > y',
      'three > y',
      'two > three',
      'x > one',
      'x > y'
    ]);
    const outer = box(picture, 'a');
    for (const label of ['one', 'two', 'three']) {
      const inner = box(picture, label);
      expect(inner.x).toBeGreaterThan(outer.x);
      expect(inner.y).toBeGreaterThan(outer.y + 30);
      expect(inner.x + inner.width).toBeLessThan(outer.x + outer.width);
      expect(inner.y + inner.height).toBeLessThan(outer.y + outer.height);
    }
  });

  it('leads lines from box to box, through the borders of open ones, without a gap', () => {
    const picture = drawing([SCOPED])('sa');
    for (const { edge, points } of picture.lines) {
      const [from, to] = [box(picture, edge.from.label), box(picture, edge.to.label)];
      const [first, last] = [points[0], points.at(-1)];
      expect(first?.y).toBeCloseTo(from.y + from.height, 0);
      expect(last?.y).toBeCloseTo(to.y, 0);
      const steps = points.slice(1).map(({ y }, index) => y - (points[index]?.y ?? y));
      expect(Math.min(...steps)).toBeGreaterThan(0);
    }
  });

  it('keeps boxes apart', () => {
    const { boxes } = drawing([chain(39)])();
    expect(boxes).toHaveLength(39);
    for (const one of boxes) {
      for (const other of boxes) {
        const isApart =
          one.x + one.width <= other.x ||
          other.x + other.width <= one.x ||
          one.y + one.height <= other.y ||
          other.y + other.height <= one.y;
        expect(one === other || isApart).toBe(true);
      }
    }
  });

  it('draws what was captured beside each operation that takes it', () => {
    const steps: Step[] = [
      { name: 'a/w', type: 'Placeholder', results: ['resource[]'] },
      { name: 'a/read', takes: ['a/w'] },
      { name: 'a/more', takes: ['a/read'] },
      { name: 'assign', takes: ['a/w', 'a/more'] }
    ];
    const draw = drawing([steps], { captures: { 0: 'weights' } });
    const closed = draw();
    expect(flows(closed)).toEqual(['a > assign', 'a/w > assign']);
    const titles = ({ boxes }: Picture): string[] =>
      boxes.map(({ face }) => face.title).filter(title => title === 'weights');
    expect(titles(closed)).toHaveLength(1);
    expect(titles(draw('sa'))).toHaveLength(2);
  });

  it('draws the functions that an operation calls beside each other', () => {
    const loop: Step[] = [
      { name: 'x' },
      { name: 'while', takes: ['x'], calls: [1, 2] }
    ];
    const draw = drawing([loop, chain(3), chain(4)]);
    const root = draw();
    expect(root.boxes).toHaveLength(2);
    const opened = draw('o1', 'o1>1:r', 'o1>2:r');
    expect(opened.boxes).toHaveLength(2 + 2 + 3 + 4);
    const [condition, body] = [box(opened, 'body_1'), box(opened, 'body_2')];
    expect(condition.x + condition.width).toBeLessThanOrEqual(body.x);
    expect(opened.lines).toHaveLength(1 + 2 + 3);
  });

  it('marks what only one of two graphs has', () => {
    const steps: Step[] = [
      { name: 'x' },
      { name: 'sin', takes: ['x'] },
      { name: 'cos', takes: ['x'] },
      { name: 'y', takes: ['sin', 'cos'] }
    ];
    const picture = drawing([steps], {
      sides: ['one', 'two'],
      removed: [1],
      added: [2],
      changed: { 3: ['inputs: sin → cos'] }
    })();
    const marks = picture.lines.map(({ edge }) => edge.mark);
    expect(marks.sort()).toEqual(['added', 'added', 'removed', 'removed']);
    expect(box(picture, 'y').node.operation?.mark).toBe('changed');
  });

  it('leads the arrows along lines, and beside each other', () => {
    const steps: Step[] = [
      { name: 'left' },
      { name: 'right' },
      { name: 'down', takes: ['right'] }
    ];
    const picture = drawing([steps])();
    const [one, other] = [box(picture, 'left'), box(picture, 'right')];
    const across = one.x < other.x ? 'right' : 'left';
    const from = (label: string, direction: 'up' | 'down' | 'left' | 'right') =>
      neighbour(picture, box(picture, label).node.id, direction)?.node.label;
    expect(from('right', 'down')).toBe('down');
    expect(from('down', 'up')).toBe('right');
    expect(from('left', across)).toBe('right');
    expect(neighbour(picture, null, 'down')).toBe(picture.boxes[0]);
    const scoped = drawing([SCOPED])('sa');
    const above = neighbour(scoped, box(scoped, 'y').node.id, 'up');
    expect(above?.node.label).toBe('three');
  });
});
