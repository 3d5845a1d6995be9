import { afterEach, describe, expect, it } from 'vitest';
import { button, one, press } from '../page';
import type { Step } from './graphs';
import { boxOf, click, drawn, graphOf, side } from './graphs';

afterEach(() => document.body.replaceChildren());

describe('a graph that is wide', () => {
  it('begins with its argument, so large that words are easily read; Fit shows all', async () => {
    const wide = Array.from({ length: 7 }, (_, n) => ({
      name: `op_${n}`,
      type: `The_very_long_name_of_type_${n}`,
      takes: n === 6 ? ['x'] : []
    }));
    const steps = [{ name: 'x', type: 'Placeholder' }, ...wide];
    const element = await drawn(graphOf([steps], { inputs: [0] }));
    const [content] = element.querySelectorAll('.nbfn-Graph-canvas > g');
    const view = /^translate\((\S+) \S+\) scale\((\S+)\)$/;
    const seen = () => view.exec(content?.getAttribute('transform') ?? '') ?? [];
    const [, x, scale] = seen();
    expect(Number(scale)).toBe(0.75);
    const place = boxOf(element, 'x').getAttribute('transform') ?? '';
    const [, left] = /^translate\((\S+) /.exec(place) ?? [];
    const seenAt = Number(x) + Number(left) * Number(scale);
    expect(seenAt).toBeGreaterThanOrEqual(0);
    expect(seenAt).toBeLessThan(600);
    await press(button(element, 'Fit'));
    expect(Number(seen()[2])).toBeLessThan(0.6);
  });
});

it('does not follow a pointer that was released outside', async () => {
  const element = await drawn(graphOf([[{ name: 'x' }]]));
  const canvas = one(element, 'svg.nbfn-Graph-canvas');
  canvas.setPointerCapture = () => undefined;
  const place = () => canvas.querySelector('g')?.getAttribute('transform');
  const point = (type: string, clientX: number, buttons: number): void => {
    canvas.dispatchEvent(new PointerEvent(type, { clientX, buttons }));
  };
  const first = place();
  point('pointerdown', 2, 1);
  point('pointermove', 100, 0);
  point('pointermove', 120, 1);
  expect(place()).toBe(first);
  point('pointerdown', 100, 1);
  point('pointermove', 120, 1);
  expect(place()).not.toBe(first);
});

describe('the values of a line', () => {
  it('are said of its operations, if they were looked at', async () => {
    const steps: Step[] = [
      { name: 'x', type: 'Placeholder' },
      { name: 'Relu', takes: ['x'], place: 1 },
      { name: 'Exp', takes: ['Relu'], place: 2 }
    ];
    const values = { 1: ['`hidden` float32[2]: 1, 0'] };
    const element = await drawn(graphOf([steps], { values }));
    await click(boxOf(element, 'Relu'));
    expect(side(element)).toContain('seen hidden float32[2]: 1, 0');
    await click(boxOf(element, 'Exp'));
    expect(side(element)).not.toContain('seen');
  });
});
