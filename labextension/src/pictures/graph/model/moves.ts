import type { Box, Picture } from './layout';

/** The direction of a move by an arrow key. */
type Direction = 'up' | 'down' | 'left' | 'right';

/** The direction of each arrow key. */
export const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right'
};

/**
 * The box that an arrow key selects: down to a consumer and up to a producer along the lines; else
 * the nearest box in that direction, preferably within the same container.
 */
export function neighbour(
  { boxes, lines }: Picture,
  id: string | null,
  direction: Direction
): Box | null {
  const here = boxes.find(({ node }) => node.id === id);
  if (!here) {
    return boxes[0] ?? null;
  }
  const joined = new Set(
    lines.flatMap(({ edge: { from, to } }) => {
      if (direction === 'down' && from.id === id) return [to.id];
      return direction === 'up' && to.id === id ? [from.id] : [];
    })
  );
  const inside = boxes.filter(
    ({ node }) => here.isOpen && direction === 'down' && node.parent === here.node
  );
  const beside = boxes.filter(
    box => box.node.parent === here.node.parent && isTowards(here, box, direction)
  );
  const byLines = boxes.filter(({ node }) => joined.has(node.id));
  const choices = [inside, byLines, beside].find(({ length }) => length > 0);
  if (choices) {
    return nearest(here, choices, direction);
  }
  return (
    boxes.find(({ node }) => direction === 'up' && node === here.node.parent) ?? null
  );
}

function isTowards(here: Box, other: Box, direction: Direction): boolean {
  const [dx, dy] = [middle(other).x - middle(here).x, middle(other).y - middle(here).y];
  return { up: -dy, down: dy, left: -dx, right: dx }[direction] > 1;
}

function nearest(here: Box, boxes: readonly Box[], direction: Direction): Box | null {
  const isAcross = direction === 'left' || direction === 'right';
  const cost = (box: Box): number => {
    const dx = Math.abs(middle(box).x - middle(here).x);
    const dy = Math.abs(middle(box).y - middle(here).y);
    return isAcross ? dx + 4 * dy : dy + dx / 2;
  };
  return boxes.reduce<Box | null>(
    (best, box) => (best && cost(best) <= cost(box) ? best : box),
    null
  );
}

function middle({ x, y, width, height }: Box): { x: number; y: number } {
  return { x: x + width / 2, y: y + Math.min(height, 60) / 2 };
}
