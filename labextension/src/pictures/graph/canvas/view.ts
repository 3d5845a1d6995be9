import type { Point, Size } from '../model/container';

/** The transform of the content: scaled by `scale`, then moved by `x` and `y` pixels. */
export interface View extends Point {
  scale: number;
}

const [LEAST, MOST] = [0.05, 3];

/** Margin in pixels around content that is scrolled into view. */
const MARGIN = 8;

/** The view scaled by a factor around a fixed point of the screen. */
export function zoomed(view: View, factor: number, at: Point): View {
  const scale = Math.min(MOST, Math.max(LEAST, view.scale * factor));
  const by = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by };
}

/** The view that shows the whole content, centred, at most in its natural size. */
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

/** The view centred on a rectangle, large enough to be readable. */
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

/** The view at a scale with a rectangle as near to the centre as the content's borders allow. */
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

/** The view moved as little as needed to show a rectangle, or the beginning of one too large. */
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
