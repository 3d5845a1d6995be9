import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { causeSign } from './causes';
import type { Mark } from './marks';
import { causeOfMark } from './marks';
import { causePaths, partPaths } from './paths';

/** Properties of the bars of a lane. */
interface BarsProps {
  marks: readonly Mark[];
  width: number;
  isCells: boolean;
  /** The mark under the pointer, or the selected one. */
  marked: Mark | null;
  isChosen: boolean;
}

const CELLS = { height: 34, top: 2, bar: 30 };
const TRACES = { height: 26, top: 13, bar: 11 };

/** Width of a character of a label in pixels. */
const CHARACTER = 6.2;

/** The bars of a lane: cells with their parts and numbers, or traces with their causes. */
export function Bars({ marks, width, isCells, marked, isChosen }: BarsProps): VNode {
  const { height, top, bar } = isCells ? CELLS : TRACES;
  const paths = useMemo<Record<string, string>>(
    () => (isCells ? partPaths(marks, top, bar) : causePaths(marks, top, bar)),
    [marks, isCells]
  );
  const prefix = isCells ? 'nbfn-mod-' : 'nbfn-Timeline-cause nbfn-mod-';
  return (
    <svg class="nbfn-Timeline-bars" width={width} height={height} aria-hidden="true">
      {Object.entries(paths).map(([name, path]) => (
        <path
          key={name}
          class={name === 'tracing' ? 'nbfn-mod-tracing' : prefix + name}
          d={path}
        />
      ))}
      {isCells ? <Numbers marks={marks} /> : <Signs marks={marks} />}
      {marked && (
        <rect
          class={
            isChosen ? 'nbfn-Timeline-marked nbfn-mod-chosen' : 'nbfn-Timeline-marked'
          }
          x={marked.x - 1}
          y={top - 1}
          width={marked.width + 2}
          height={bar + 2}
        />
      )}
    </svg>
  );
}

/** The numbers of cells whose bars are wide enough, with signs of errors and traces. */
function Numbers({ marks }: { marks: readonly Mark[] }): VNode {
  const { top, bar } = CELLS;
  return (
    <>
      {marks.map(({ x, width, blocks }) => {
        const failed = blocks.some(block => block.failed);
        const running = blocks.some(block => block.running);
        const [first] = blocks;
        const name =
          first && blocks.length === 1 && first.count === 1 ? first.name : '';
        const fits = name !== '' && width > name.length * CHARACTER + 8;
        return (
          (failed || running || fits) && (
            <g key={first?.from}>
              {failed && (
                <path
                  class="nbfn-Timeline-failed"
                  d={`M${x} ${top}h${Math.max(width - 1, 2)}v3h-${Math.max(width - 1, 2)}z`}
                />
              )}
              {running && (
                <line
                  class="nbfn-Timeline-running"
                  x1={x + width}
                  x2={x + width}
                  y1={top - 2}
                  y2={top + bar + 2}
                />
              )}
              {fits && (
                <text x={x + 4} y={top + bar / 2 + 4}>
                  {name}
                </text>
              )}
            </g>
          )
        );
      })}
    </>
  );
}

/** The signs of the causes, above the bars of retraces as far as there is room. */
function Signs({ marks }: { marks: readonly Mark[] }): VNode {
  const signs: VNode[] = [];
  let free = -Infinity;
  for (const mark of marks) {
    const cause = causeOfMark(mark);
    if (!cause) {
      continue;
    }
    const { sign, group } = causeSign(cause.code);
    const text = cause.number > 1 ? `${sign}×${cause.number}` : sign;
    const x = mark.x + Math.min(mark.width / 2, 6);
    const half = (text.length * CHARACTER) / 2 + 1;
    if (x - half >= free) {
      free = x + half;
      signs.push(
        <text
          key={mark.from}
          class={`nbfn-Timeline-cause nbfn-mod-${group}`}
          x={x}
          y={10}
        >
          {text}
        </text>
      );
    }
  }
  return <g class="nbfn-Timeline-signs">{signs}</g>;
}
