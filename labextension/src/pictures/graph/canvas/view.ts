import type { Point, Size } from '../model/container';

/** What is seen: the content times `scale`, moved by `x` and `y` pixels. */
export interface View extends Point {
  scale: number;
}

const [LEAST, MOST] = [0.05, 3];

/** Pixels that are kept free around what is brought in sight. */
const MARGIN = 8;

/** The view with a point of the screen kept while the scale changes by a factor. */
export function zoomed(view: View, factor: number, at: Point): View {
  const scale = Math.min(MOST, Math.max(LEAST, view.scale * factor));
  const by = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by };
}

/** The view in which content is seen whole, in the middle, and never larger than it is. */
export function fitted(content: Size, screen: Size): View {
  const scale = Math.min(
    1,
    Math.max(
      LEAST,
      Math.min(screen.width / content.width, screen.height / content.height)
    )
  );
  return {
    scale,
    x: (screen.width - content.width * scale) / 2,
    y: Math.max(0, (screen.height - content.height * scale) / 2)
  };
}

/** The view in which a rectangle is in the middle, at least so large that it can be read. */
export function centred(view: View, target: Point & Size, screen: Size): View {
  const room = Math.min(
    screen.width / (target.width + 80),
    screen.height / (target.height + 80)
  );
  const scale = Math.min(Math.max(view.scale, 0.8), Math.max(room, 0.4));
  return {
    scale,
    x: screen.width / 2 - (target.x + target.width / 2) * scale,
    y: screen.height / 2 - (target.y + target.height / 2) * scale
  };
}

/** The view at a scale with a rectangle as near to the middle as the borders of the content allow. */
export function around(
  target: Point & Size,
  scale: number,
  content: Size,
  screen: Size
): View {
  const at = (start: number, length: number, whole: number, room: number): number => {
    const free = room - whole * scale;
    const middle = room / 2 - (start + length / 2) * scale;
    return free > 0 ? free / 2 : Math.min(0, Math.max(middle, free));
  };
  return {
    scale,
    x: at(target.x, target.width, content.width, screen.width),
    y: at(target.y, target.height, content.height, screen.height)
  };
}

/** The view moved by as little as brings a rectangle in sight; the beginning of one too large. */
export function inSight(view: View, target: Point & Size, screen: Size): View {
  const moved = (from: number, start: number, length: number, room: number): number => {
    const at = from + start * view.scale;
    const last = room - length * view.scale - MARGIN;
    return from + Math.max(MARGIN, Math.min(at, last)) - at;
  };
  return {
    scale: view.scale,
    x: moved(view.x, target.x, target.width, screen.width),
    y: moved(view.y, target.y, target.height, screen.height)
  };
}
