import type { VNode } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { Lane } from './blocks';
import { marksOf } from './marks';
import { barPath } from './paths';
import type { Span, TimeAxis } from './timeAxis';
import { between, panned, pixels, timeAt } from './timeAxis';
import { useWidth } from '../spending/width';
import { trans } from '../../words';

/** Properties of the overview. */
export interface ChoiceProps {
  lanes: readonly Lane[];
  axis: TimeAxis;
  shown: Span;
  onShow: (span: Span) => void;
}

const HEIGHT = 24;

/** Within this many pixels of an edge of the shown range, a drag moves that edge. */
const EDGE = 5;

/** Pixels that a pointer moves before it selects a span. */
const STEADY = 3;

/** The whole time as a strip, on which a drag selects a span. */
export function Overview({ lanes, axis, shown, onShow }: ChoiceProps): VNode {
  const [element, width] = useWidth();
  const drag = useRef<((x: number) => void) | null>(null);
  const bars = useMemo(() => {
    const toPixels = pixels(axis, axis.whole, width);
    return lanes.map((lane, index) => {
      const isCells = index === 0;
      const marks = marksOf(lane.blocks, toPixels, width);
      return isCells ? barPath(marks, 2, 12) : barPath(marks, 16, 6);
    });
  }, [lanes, axis, width]);
  const toPixels = pixels(axis, axis.whole, width);
  const left = toPixels(shown.from);
  const right = toPixels(shown.to);
  const isWhole = left <= 0 && right >= width - 0.5;

  const place = (event: PointerEvent): number =>
    event.clientX - (element.current?.getBoundingClientRect().left ?? 0);
  const at = (x: number): number => timeAt(axis, axis.whole, x / width);

  const begin = (event: PointerEvent): void => {
    const start = place(event);
    const fixed =
      Math.abs(start - left) <= EDGE
        ? right
        : Math.abs(start - right) <= EDGE
          ? left
          : start;
    const isMoving = !isWhole && start > left + EDGE && start < right - EDGE;
    const share = right > left ? 1 / (right - left) : 0;
    element.current?.setPointerCapture(event.pointerId);
    drag.current = x => {
      if (isMoving) {
        onShow(panned(axis, shown, (x - start) * share));
      } else if (Math.abs(x - start) >= STEADY) {
        onShow(between(axis, at(fixed), at(x)));
      }
    };
  };
  return (
    <div
      ref={element}
      class="nbfn-Timeline-overview"
      title={trans.__('Drag across it to zoom in on a part')}
      onPointerDown={begin}
      onPointerMove={event => drag.current?.(place(event))}
      onPointerUp={() => {
        drag.current = null;
      }}
      onPointerCancel={() => {
        drag.current = null;
      }}
    >
      <svg width={width} height={HEIGHT} aria-hidden="true">
        {bars.map((path, index) => (
          <path
            key={index}
            class={index === 0 ? 'nbfn-mod-python' : 'nbfn-mod-tracing'}
            d={path}
          />
        ))}
        {!isWhole && (
          <>
            <rect
              class="nbfn-Timeline-hidden"
              width={Math.max(left, 0)}
              height={HEIGHT}
            />
            <rect
              class="nbfn-Timeline-hidden"
              x={right}
              width={Math.max(width - right, 0)}
              height={HEIGHT}
            />
            <rect
              class="nbfn-Timeline-shown"
              x={left + 0.5}
              y={0.5}
              width={Math.max(right - left - 1, 2)}
              height={HEIGHT - 1}
            />
          </>
        )}
      </svg>
    </div>
  );
}
