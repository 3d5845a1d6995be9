import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Size } from '../model/container';
import type { Box, Picture } from '../model/layout';
import type { View } from './view';
import { around, centred, fitted, inSight } from './view';
import type { PanZoom } from './panZoom';

/** Pixels between which the picture is as high as it needs. */
export const [LOW, HIGH] = [180, 560];

/** After a move all is shown as long as words can just be read; at first, if they are easily read. */
const [READABLE, LEGIBLE] = [0.6, 0.75];

/** Where one looks closely. */
const NEAR = 0.8;

/**
 * What is to be seen next: a box where it is now, a box in the middle, or all. Of several boxes it
 * is the first that is drawn.
 */
export type Move = { to: 'same' | 'middle'; ids: readonly string[] } | { to: 'all' };

/** Properties of what a picture is seen through. */
interface SteadyViewProps {
  panZoom: PanZoom;
  picture: Picture;
  /** How large the largest is of the pictures that are seen alike. */
  extent: Size;
  /** What differs first, of two graphs: it is what one wants to read. */
  difference: Box | undefined;
  /** Receives the height that the picture should have. */
  onHeight: (needed: number) => void;
}

/**
 * Keeps in sight what the user looks at while the picture changes around it.
 *
 * @returns A function that sets what is in view after the next drawing.
 */
export function useSteadyView(props: SteadyViewProps): (move: Move) => void {
  const { panZoom, picture, extent, difference, onHeight } = props;
  const [, redraw] = useState(0);
  const pending = useRef<Move | null>(null);
  const before = useRef<Picture | null>(null);
  const lastSize = useRef<Size | null>(null);
  // As long as the user has not moved it, the picture fits itself to the room that there is.
  const lastFit = useRef<View | null>(null);
  const isWhole = useRef(false);
  useLayoutEffect(() => {
    const fitting = Math.min(1, Math.max(LEGIBLE, panZoom.size().width / extent.width));
    const scale = before.current ? Math.max(fitting, panZoom.view().scale) : fitting;
    onHeight(Math.min(HIGH, Math.ceil(extent.height * scale)));
  }, [panZoom, picture]);
  useLayoutEffect(() => {
    const move = pending.current;
    const last = before.current;
    pending.current = null;
    before.current = picture;
    const size = panZoom.size();
    const lastWidth = lastSize.current?.width ?? size.width;
    lastSize.current = size;
    const view = panZoom.view();
    const all = fitted(extent, size);
    const isUntouched = last === null || lastFit.current === view;
    const least = move ? READABLE : LEGIBLE;
    if (move) {
      isWhole.current = move.to === 'all';
    }
    const isFitting = isWhole.current || all.scale >= least;
    if (move?.to === 'all' || (isUntouched && isFitting)) {
      panZoom.show(all);
      lastFit.current = all;
    } else if (isUntouched && !move) {
      const first = difference ?? beginningOf(picture);
      lastFit.current = first ? around(first, LEGIBLE, extent, size) : all;
      panZoom.show(lastFit.current);
    } else if (!move && size.width !== lastWidth) {
      // What was in the middle stays there.
      panZoom.show({ ...view, x: view.x + (size.width - lastWidth) / 2 });
    } else if (move) {
      const id = move.ids.find(one => boxOf(picture, one)) ?? '';
      const [was, is] = [last, picture].map(each => each && boxOf(each, id));
      if (move.to === 'middle' && is) {
        panZoom.show(centred(view, is, size));
      } else if (is?.isOpen && view.scale < READABLE) {
        // Who opens a box wants to see what is in it.
        const middle = (is.x + is.width / 2) * NEAR;
        panZoom.show({ scale: NEAR, x: size.width / 2 - middle, y: 20 - is.y * NEAR });
      } else if (was && is) {
        const { scale } = view;
        const [x, y] = [
          view.x + (was.x - is.x) * scale,
          view.y + (was.y - is.y) * scale
        ];
        const kept = { scale, x, y };
        panZoom.show(is.isOpen ? inSight(kept, is, size) : kept);
      }
    }
  });
  useEffect(() => {
    const { current } = panZoom.screen;
    if (!current || typeof ResizeObserver === 'undefined') {
      return undefined;
    }
    const observer = new ResizeObserver(() => redraw(count => count + 1));
    observer.observe(current);
    return () => observer.disconnect();
  }, [panZoom]);
  return move => {
    pending.current = move;
    redraw(count => count + 1);
  };
}

/** Where a graph is read first: its highest argument, or else its highest box. */
function beginningOf({ boxes }: Picture): Box | undefined {
  const inputs = boxes.filter(({ node }) => node.operation?.role === 'input');
  const [first, ...others] = inputs.length > 0 ? inputs : boxes;
  return others.reduce((high, box) => (high && box.y >= high.y ? high : box), first);
}

function boxOf({ boxes }: Picture, id: string): Box | undefined {
  return boxes.find(({ node }) => node.id === id);
}
