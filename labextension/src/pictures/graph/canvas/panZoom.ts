import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Point, Size } from '../model/container';
import type { View } from './view';
import { zoomed } from './view';

/** The scale below which labels of lines are unreadable. */
const NEAR = 0.6;

/** Pixels that the pointer may move before a press becomes a drag. */
const STILL = 4;

/** Moves and scales a picture, by hand and by code. */
export interface PanZoom {
  screen: RefObject<SVGSVGElement | null>;
  content: RefObject<SVGGElement | null>;
  /** The current view. */
  view: () => View;
  /** The size of the viewport. */
  size: () => Size;
  show: (view: View) => void;
}

/** Pictures that are moved and scaled together. */
export type Linked = Set<PanZoom>;

/** Moves and scales all linked pictures. */
export function change(linked: Linked, by: (view: View, size: Size) => View): void {
  linked.forEach(each => each.show(by(each.view(), each.size())));
}

/**
 * Handles drags, pinches, and the wheel with ctrl; a wheel alone scrolls the page.
 *
 * @param linked - The linked pictures, to which this one is added while it is drawn.
 */
export function usePanZoom(linked: Linked): PanZoom {
  const screen = useRef<SVGSVGElement>(null);
  const content = useRef<SVGGElement>(null);
  const state = useRef<View>({ x: 0, y: 0, scale: 1 });
  const panZoom = useMemo<PanZoom>(
    () => ({
      screen,
      content,
      view: () => state.current,
      size: () => {
        // A hidden element has no size yet.
        const { clientWidth = 0, clientHeight = 0 } = screen.current ?? {};
        return { width: clientWidth || 600, height: clientHeight || 400 };
      },
      // Set directly, without preact, because only this changes during a drag.
      show: view => {
        state.current = view;
        screen.current?.toggleAttribute('data-far', view.scale < NEAR);
        const { x, y, scale } = view;
        content.current?.setAttribute(
          'transform',
          `translate(${x} ${y}) scale(${scale})`
        );
      }
    }),
    []
  );
  useLayoutEffect(() => {
    linked.add(panZoom);
    return () => void linked.delete(panZoom);
  }, [linked, panZoom]);
  useEffect(() => listen(panZoom, linked), [panZoom, linked]);
  return panZoom;
}

function listen({ screen }: PanZoom, linked: Linked): () => void {
  const element = screen.current;
  if (!element) {
    return () => undefined;
  }
  const ends = new AbortController();
  const { signal } = ends;
  const fingers = new Map<number, Point>();
  let start: Point | null = null;
  let isDragged = false;
  const at = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top } = element.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  const onWheel = (event: WheelEvent): void => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      // Some browsers measure a wheel in lines instead of pixels (`deltaMode`).
      const factor = Math.exp(-event.deltaY / (event.deltaMode ? 20 : 300));
      change(linked, view => zoomed(view, factor, at(event)));
    }
  };
  const onDown = (event: PointerEvent): void => {
    if (event.button === 0) {
      start = at(event);
      isDragged = false;
      fingers.set(event.pointerId, start);
    }
  };
  const onMove = (event: PointerEvent): void => {
    const before = fingers.get(event.pointerId);
    if (!before || !start) {
      return;
    }
    if (event.buttons === 0) {
      fingers.delete(event.pointerId); // It was released outside.
      return;
    }
    const now = at(event);
    if (!isDragged && distance(now, start) < STILL) {
      return;
    }
    isDragged = true;
    // Captured only now, because a captured press causes no click on the element below.
    element.setPointerCapture(event.pointerId);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    fingers.set(event.pointerId, now);
    if (other) {
      const factor = distance(now, other) / Math.max(distance(before, other), 1);
      change(linked, view => zoomed(view, factor, other));
    } else {
      const [dx, dy] = [now.x - before.x, now.y - before.y];
      change(linked, ({ scale, x, y }) => ({ scale, x: x + dx, y: y + dy }));
    }
  };
  const onUp = (event: PointerEvent): void => {
    fingers.delete(event.pointerId);
  };
  const onClick = (event: MouseEvent): void => {
    if (isDragged) {
      event.stopPropagation();
      isDragged = false;
    }
  };
  // A passive listener could not prevent that the browser zooms the page.
  element.addEventListener('wheel', onWheel, { passive: false, signal });
  element.addEventListener('pointerdown', onDown, { signal });
  element.addEventListener('pointermove', onMove, { signal });
  element.addEventListener('pointerup', onUp, { signal });
  element.addEventListener('pointercancel', onUp, { signal });
  element.addEventListener('click', onClick, { capture: true, signal });
  return () => ends.abort();
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
