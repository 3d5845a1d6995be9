import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Size } from '../model/container';
import type { Box, Picture } from '../model/layout';
import type { View } from './view';
import { around, centred, fitted, inSight } from './view';
import type { PanZoom } from './panZoom';

/** Minimum and maximum height of the picture in pixels. */
export const [LOW, HIGH] = [180, 560];

/** Minimum scales at which everything is shown: after a move, and at first. */
const [READABLE, LEGIBLE] = [0.6, 0.75];

/** The scale for close views. */
const NEAR = 0.8;

/**
 * The next view: a box at its current position, a box in the centre, or everything. Of several
 * boxes, the first drawn one counts.
 */
export type Move = { to: 'same' | 'middle'; ids: readonly string[] } | { to: 'all' };

/** Properties of a viewport. */
interface SteadyViewProps {
  panZoom: PanZoom;
  picture: Picture;
  /** The size of the largest of the linked pictures. */
  extent: Size;
  /** The first difference of two graphs, which is shown first. */
  difference: Box | undefined;
  /** Receives the height that the picture should have. */
  onHeight: (needed: number) => void;
}

/**
 * Keeps the content that the user looks at in view while the picture changes around it.
 *
 * @returns A function that sets what is in view after the next drawing.
 */
export function useSteadyView(props: SteadyViewProps): (move: Move) => void {
  const { panZoom, picture, extent, difference, onHeight } = props;
  const [, redraw] = useState(0);
  const pending = useRef<Move | null>(null);
  const before = useRef<Picture | null>(null);
  const lastSize = useRef<Size | null>(null);
  // Until the user moves it, the picture is fitted to the viewport.
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
      // The content in the centre stays there.
      panZoom.show({ ...view, x: view.x + (size.width - lastWidth) / 2 });
    } else if (move) {
      const id = move.ids.find(one => boxOf(picture, one)) ?? '';
      const [was, is] = [last, picture].map(each => each && boxOf(each, id));
      if (move.to === 'middle' && is) {
        panZoom.show(centred(view, is, size));
      } else if (is?.isOpen && view.scale < READABLE) {
        // A box that was opened is shown with its contents.
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

/** The box shown first: the topmost argument, or else the topmost box. */
function beginningOf({ boxes }: Picture): Box | undefined {
  const inputs = boxes.filter(({ node }) => node.operation?.role === 'input');
  const [first, ...others] = inputs.length > 0 ? inputs : boxes;
  return others.reduce((high, box) => (high && box.y >= high.y ? high : box), first);
}

function boxOf({ boxes }: Picture, id: string): Box | undefined {
  return boxes.find(({ node }) => node.id === id);
}
