import { describe, expect, it } from 'vitest';
import {
  around,
  centred,
  fitted,
  inSight,
  zoomed
} from '../../src/pictures/graph/canvas/view';

const SCREEN = { width: 400, height: 200 };

describe('the view of a picture', () => {
  it('is fitted without being enlarged', () => {
    expect(fitted({ width: 100, height: 100 }, SCREEN)).toEqual({
      scale: 1,
      x: 150,
      y: 50
    });
    expect(fitted({ width: 800, height: 100 }, SCREEN)).toMatchObject({
      scale: 0.5,
      x: 0
    });
  });

  it('is zoomed around a point that stays where it is', () => {
    const at = { x: 100, y: 40 };
    const view = zoomed({ scale: 1, x: 20, y: 10 }, 2, at);
    expect(view.scale).toBe(2);
    expect([(at.x - view.x) / 2, (at.y - view.y) / 2]).toEqual([80, 30]);
    expect(zoomed(view, 1000, at).scale).toBeLessThan(5);
  });

  it('brings a box to the middle, or just in sight', () => {
    const box = { x: 1000, y: 500, width: 100, height: 50 };
    const middle = centred({ scale: 1, x: 0, y: 0 }, box, SCREEN);
    expect(middle.x + 1050 * middle.scale).toBeCloseTo(200);
    const moved = inSight({ scale: 1, x: 0, y: 0 }, box, SCREEN);
    expect(moved.x + 1100).toBe(392);
    expect(inSight({ scale: 1, x: -900, y: -400 }, box, SCREEN)).toMatchObject({
      x: -900
    });
    const large = inSight({ scale: 1, x: 0, y: 0 }, { ...box, width: 900 }, SCREEN);
    expect(large.x + 1000).toBe(8);
  });

  it('begins around a box, within the borders of the content', () => {
    const content = { width: 2000, height: 300 };
    const at = (x: number) =>
      around({ x, y: 100, width: 100, height: 50 }, 0.5, content, SCREEN);
    expect(at(0)).toEqual({ scale: 0.5, x: 0, y: 25 });
    expect(at(950).x + 1000 * 0.5).toBe(200);
    expect(at(1900).x).toBe(-600);
  });
});
