import { scaleLog } from 'd3-scale';
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { FunctionRecord } from '../../protocol';
import { revealPlace } from '../../views/parts/cellReference';
import { counts, duration } from '../../views/parts/format';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';
import { labelsOf } from './labels';
import { useWidth } from './width';

const MARGIN = { left: 50, right: 14, top: 22, bottom: 34 };
const MAX_HEIGHT = 260;

/** Maximum number of functions drawn: those that took longest. */
const MOST = 300;

/** Maximum number of dots with a label, where there is room. */
const NAMED = 6;

/** Maximum number of dots that the keyboard reaches, so that the Tab order stays short. */
const REACHED = 40;

/** Seconds spent tracing against seconds spent running, a dot for each function. */
export function Scatter({
  functions
}: {
  functions: ReadonlyMap<string, FunctionRecord>;
}): VNode {
  const [element, width] = useWidth();
  const [pointed, setPointed] = useState<FunctionRecord | null>(null);
  const traced = useMemo(
    () =>
      [...functions.values()]
        .filter(fn => fn.trace_seconds > 0)
        .sort(
          (a, b) => b.trace_seconds + b.run_seconds - a.trace_seconds - a.run_seconds
        ),
    [functions]
  );
  const drawn = traced.slice(0, MOST);
  const height = Math.min(MAX_HEIGHT, Math.max(width * 0.75, 160));
  const { x, y, marks, least } = useMemo(
    () => scales(drawn, width, height),
    [drawn.length, traced, width, height]
  );
  if (drawn.length === 0) {
    return (
      <div ref={element}>
        <p class="nbfn-Empty">{trans.__('No function has been traced yet.')}</p>
      </div>
    );
  }
  const place = (fn: FunctionRecord): { cx: number; cy: number; r: number } => ({
    cx: x(Math.max(fn.run_seconds, least)),
    cy: y(Math.max(fn.trace_seconds, least)),
    r: Math.min(3.5 + Math.sqrt(fn.traces) * 1.5, 16)
  });
  const [inner, right] = [height - MARGIN.top - MARGIN.bottom, width - MARGIN.right];
  const frame = {
    x: MARGIN.left,
    y: MARGIN.top,
    width: right - MARGIN.left,
    height: inner
  };
  const captions = [
    { x: MARGIN.left, y: MARGIN.top, width: 110, height: 14 },
    { x: right - 110, y: MARGIN.top + inner - 16, width: 110, height: 14 }
  ];
  const dots = drawn.map(fn => ({ name: seen(fn.name), ...place(fn) }));
  return (
    <div ref={element} class="nbfn-Timeline-scatter">
      <svg
        width={width}
        height={height}
        role="group"
        aria-label={trans.__('Functions by the time that tracing and running took')}
      >
        {marks.map(mark => (
          <g key={mark} class="nbfn-Timeline-tick">
            <line
              x1={x(mark)}
              x2={x(mark)}
              y1={MARGIN.top}
              y2={height - MARGIN.bottom}
            />
            <line
              x1={MARGIN.left}
              x2={width - MARGIN.right}
              y1={y(mark)}
              y2={y(mark)}
            />
            <text class="nbfn-mod-below" x={x(mark)} y={height - MARGIN.bottom + 13}>
              {duration(mark)}
            </text>
            <text class="nbfn-mod-beside" x={MARGIN.left - 5} y={y(mark) + 4}>
              {duration(mark)}
            </text>
          </g>
        ))}
        <line
          class="nbfn-Timeline-even"
          x1={x(least)}
          y1={y(least)}
          x2={x(marks.at(-1) ?? 1)}
          y2={y(marks.at(-1) ?? 1)}
        />
        <text
          class="nbfn-Timeline-axis nbfn-mod-above"
          x={MARGIN.left + 4}
          y={MARGIN.top + 11}
        >
          {trans.__('tracing cost more')}
        </text>
        <text
          class="nbfn-Timeline-axis nbfn-mod-beyond"
          x={width - MARGIN.right - 4}
          y={height - MARGIN.bottom - 6}
        >
          {trans.__('running took more')}
        </text>
        <text
          class="nbfn-Timeline-axis nbfn-mod-beyond"
          x={width - MARGIN.right}
          y={height - 4}
        >
          {trans.__('running')}
        </text>
        <text class="nbfn-Timeline-axis" x={0} y={11}>
          {trans.__('tracing')}
        </text>
        {[...drawn].reverse().map((fn, fromEnd) => (
          <circle
            key={fn.id}
            {...place(fn)}
            class={classOf(fn)}
            role={fn.cell?.id ? 'button' : 'img'}
            aria-label={describe(fn)}
            tabIndex={drawn.length - 1 - fromEnd < REACHED ? 0 : -1}
            onPointerEnter={() => setPointed(fn)}
            onPointerLeave={() => setPointed(null)}
            onFocus={() => setPointed(fn)}
            onBlur={() => setPointed(null)}
            onClick={event => fn.cell && revealPlace(event.currentTarget, fn.cell)}
            onKeyDown={event => {
              if (fn.cell && (event.key === 'Enter' || event.key === ' ')) {
                event.preventDefault();
                revealPlace(event.currentTarget, fn.cell);
              }
            }}
          />
        ))}
        {labelsOf(dots, NAMED, frame, captions).map(({ name, x: left, y: base }) => (
          <text
            key={`${name} ${left}`}
            class="nbfn-Timeline-name"
            aria-hidden="true"
            x={left}
            y={base}
          >
            {name}
          </text>
        ))}
      </svg>
      <p class="nbfn-Timeline-readout" aria-hidden="true">
        {pointed ? (
          describe(pointed)
        ) : (
          <span class="nbfn-Muted">
            {trans.__(
              'Larger dots have more traces; above the line tracing has cost more than running. Hollow dots: running time is not measured.'
            )}
          </span>
        )}
      </p>
      {traced.length > MOST && (
        <p class="nbfn-Muted">
          {trans.__(
            '%1 with less time not drawn.',
            counts.functions(traced.length - MOST)
          )}
        </p>
      )}
    </div>
  );
}

function classOf(fn: FunctionRecord): string {
  const costs =
    fn.trace_seconds > fn.run_seconds ? 'nbfn-mod-costly' : 'nbfn-mod-repaid';
  return `nbfn-Timeline-dot ${fn.run_seconds > 0 ? costs : 'nbfn-mod-unmeasured'}`;
}

function describe(fn: FunctionRecord): string {
  const ran =
    fn.run_seconds > 0
      ? trans.__('%1 running', duration(fn.run_seconds))
      : trans.__('running not measured');
  const tracing = trans.__('%1 tracing', duration(fn.trace_seconds));
  const called = fn.calls === null ? [] : [counts.calls(fn.calls)];
  const numbers = [tracing, ran, counts.traces(fn.traces), ...called];
  return `${seen(fn.name)}: ${numbers.join(', ')}`;
}

/** The same decades on both axes, so that the line of equal cost is a diagonal. */
function scales(functions: readonly FunctionRecord[], width: number, height: number) {
  const seconds = functions
    .flatMap(fn => [fn.trace_seconds, fn.run_seconds])
    .filter(value => value > 0);
  const least = 10 ** Math.floor(Math.log10(Math.min(...seconds, 0.1)));
  const most = 10 ** Math.ceil(Math.log10(Math.max(...seconds, 1) * 1.1));
  const decades = Math.round(Math.log10(most / least));
  const apart = Math.ceil(decades / Math.max(Math.floor((width - 60) / 56), 1));
  const marks: number[] = [];
  for (let n = decades; n >= 0; n -= apart) {
    marks.unshift(least * 10 ** n);
  }
  return {
    least,
    marks,
    x: scaleLog([least, most], [MARGIN.left, width - MARGIN.right]),
    y: scaleLog([least, most], [height - MARGIN.bottom, MARGIN.top])
  };
}
