import type { VNode } from 'preact';
import type { Span, TimeAxis } from './timeAxis';
import { clock, pixels, ticks } from './timeAxis';

/** The times, and lines down from them; shortened pauses are hatched. */
export function Grid({
  axis,
  shown,
  width
}: {
  axis: TimeAxis;
  shown: Span;
  width: number;
}): VNode {
  const size = axis.place(shown.to) - axis.place(shown.from);
  const toPixels = pixels(axis, shown, width);
  const visible = axis.pauses.filter(one => one.to > shown.from && one.from < shown.to);
  return (
    <svg class="nbfn-Timeline-grid" width={width} aria-hidden="true">
      {visible.map(({ from, to }) => (
        <rect
          key={from}
          class="nbfn-Timeline-pause"
          x={toPixels(from)}
          y={16}
          width={Math.max(toPixels(to) - toPixels(from), 1)}
          height="100%"
        />
      ))}
      {ticks(axis, shown, width).map(({ time, x }) => (
        <g key={time}>
          <line x1={x} x2={x} y1={0} y2="100%" />
          <text x={x + 3} y={10}>
            {clock(time, size)}
          </text>
        </g>
      ))}
    </svg>
  );
}
