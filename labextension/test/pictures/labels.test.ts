import { describe, expect, it } from 'vitest';
import { labelsOf } from '../../src/pictures/spending/labels';

const FRAME = { x: 0, y: 0, width: 300, height: 200 };

function names(
  dots: readonly [name: string, cx: number, cy: number][],
  { most = 6, taken = [] as (typeof FRAME)[] } = {}
) {
  const all = dots.map(([name, cx, cy]) => ({ name, cx, cy, r: 4 }));
  return labelsOf(all, most, FRAME, taken);
}

describe('the names of dots', () => {
  it('are beside them: at the left where the right has no room', () => {
    const [first, second] = names([
      ['step', 100, 50],
      ['train', 290, 100]
    ]);
    expect(first).toMatchObject({ name: 'step', x: 107 });
    expect(second?.x).toBeCloseTo(290 - 7 - 5 * 5.6);
  });

  it('are those of the first, and of no more than fit', () => {
    const dots = (['a', 'b', 'c'] as const).map(
      (name, index) => [name, 100, 50 + index * 40] as const
    );
    expect(
      names(
        dots.map(dot => [...dot]),
        { most: 2 }
      ).map(({ name }) => name)
    ).toEqual(['a', 'b']);
  });

  it('cover neither each other nor dots nor what is written there', () => {
    const near = names([
      ['first_name', 100, 50],
      ['second_name', 108, 52],
      ['third_name', 116, 54],
      ['fourth_name', 104, 50],
      ['fifth_name', 112, 52]
    ]);
    expect(near.length).toBeLessThan(5);
    expect(near[0]?.x).toBeLessThan(100); // dots are at the right
    expect(names([['x', 100, 50]], { taken: [FRAME] })).toEqual([]);
  });

  it('are cut if they are long', () => {
    expect(names([['a'.repeat(40), 10, 50]])[0]?.name).toBe(`${'a'.repeat(21)}…`);
  });
});
