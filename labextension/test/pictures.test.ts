import { describe, expect, it } from 'vitest';
import { planned } from '../src/pictures/diagram/layout';
import type { Diagram, Page } from '../src/protocol';
import { REVEAL_CELL } from '../src/views';
import { appears, asked, page as view, press, words } from './page';
import { snapshot } from './records';

const [ONE, TWO, STEP, TITLE, RATE] = [
  'In [1]',
  'In [2]',
  'step\u202e',
  'stale',
  'rate'
];

const DIAGRAM: Diagram = {
  nodes: [
    { id: 'a', kind: 'cell', label: ONE, cell: { id: 'cell-1' } },
    { id: 'f', kind: 'function', label: STEP, lines: ['rate has changed'] },
    { id: 'b', kind: 'cell', label: TWO, marked: true }
  ],
  edges: [
    { source: 'a', target: 'f', label: RATE, marked: true },
    { source: 'f', target: 'b' }
  ]
};

const PAGE: Page = {
  title: TITLE,
  lines: [],
  tables: [],
  groups: [],
  open: false,
  diagram: DIAGRAM
};

describe('a diagram', () => {
  it('runs from left to right, and no box lies upon another', () => {
    const { boxes, arrows, width, height } = planned(DIAGRAM);
    const [first, middle, last] = boxes;
    expect(first && middle && last).toBeTruthy();
    expect(boxes.map(box => box.x)).toEqual(
      [...boxes.map(box => box.x)].sort((m, n) => m - n)
    );
    boxes.slice(1).forEach((box, index) => {
      const before = boxes[index];
      expect(box.x).toBeGreaterThan((before?.x ?? 0) + (before?.width ?? 0));
    });
    expect(arrows.map(arrow => arrow.edge.label)).toEqual(['rate', undefined]);
    expect(width).toBeGreaterThan(0);
    expect(Math.max(...boxes.map(box => box.y + box.height))).toBeLessThanOrEqual(
      height
    );
  });

  it('is drawn with the page, and leads to cells', async () => {
    const { element, mounted } = view(snapshot(), { view: 'page', page: PAGE });
    await appears(element, '.nbfn-Diagram');
    const nodes = [...element.querySelectorAll<HTMLElement>('.nbfn-Diagram-node')];
    expect(nodes.map(words)).toEqual([
      'In [1]',
      'step\\u202erate has changed',
      'In [2]'
    ]);
    expect(nodes.map(node => node.classList.contains('nbfn-mod-marked'))).toEqual([
      false,
      false,
      true
    ]);
    expect(nodes.every(node => /^[\d.]+px$/.test(node.style.width))).toBe(true);
    expect(
      element.querySelectorAll('.nbfn-Diagram-arrow.nbfn-mod-marked')
    ).toHaveLength(1);
    const revealed = await asked(REVEAL_CELL, () => press(nodes[0] ?? element));
    expect(revealed).toEqual([{ cellId: 'cell-1' }]);
    mounted.dispose();
    expect(element.textContent).toBe('');
  });
});
