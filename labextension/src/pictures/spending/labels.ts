import type { Point, Size } from '../graph/model/container';

/** A dot that may get a label. */
interface Dot {
  name: string;
  cx: number;
  cy: number;
  r: number;
}

/** A label of a dot, and where its text begins. */
interface Label extends Point {
  name: string;
}

type Rectangle = Point & Size;

/** Maximum number of characters of a label; the readout has the whole name. */
const LONGEST = 22;

/** The size of a letter, and the margin around a label. */
const [LETTER, LINE, GAP] = [5.6, 11, 3];

/**
 * Places labels beside, above or below the first dots that have room for one.
 *
 * @param dots - All dots, the most important first.
 * @param most - Maximum number of labels.
 * @param frame - The area that labels must not leave.
 * @param taken - The areas that labels must not cover.
 */
export function labelsOf(
  dots: readonly Dot[],
  most: number,
  frame: Rectangle,
  taken: readonly Rectangle[]
): Label[] {
  const covered = [...taken, ...dots.map(around)];
  const labels: Label[] = [];
  for (const dot of dots.slice(0, most)) {
    const name =
      dot.name.length > LONGEST ? `${dot.name.slice(0, LONGEST - 1)}…` : dot.name;
    const width = name.length * LETTER;
    const [beside, above] = [dot.r + GAP, dot.r + GAP + LINE];
    const place = [
      { x: dot.cx + beside, y: dot.cy - LINE / 2 },
      { x: dot.cx - beside - width, y: dot.cy - LINE / 2 },
      { x: dot.cx - width / 2, y: dot.cy - above },
      { x: dot.cx - width / 2, y: dot.cy + dot.r + GAP }
    ]
      .map(at => ({ ...at, width, height: LINE }))
      .find(at => isWithin(at, frame) && !covered.some(other => meet(at, other)));
    if (place) {
      covered.push(place);
      labels.push({ name, x: place.x, y: place.y + LINE - 2 });
    }
  }
  return labels;
}

function around({ cx, cy, r }: Dot): Rectangle {
  return { x: cx - r, y: cy - r, width: 2 * r, height: 2 * r };
}

function isWithin(one: Rectangle, frame: Rectangle): boolean {
  return (
    one.x >= frame.x &&
    one.y >= frame.y &&
    one.x + one.width <= frame.x + frame.width &&
    one.y + one.height <= frame.y + frame.height
  );
}

function meet(one: Rectangle, other: Rectangle): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}
