import type { VNode } from 'preact';
import type { RunRecord } from '../../protocol';
import { size } from '../../views/parts/format';
import { trans } from '../../words';

const HEIGHT = 30;

/** Properties of the memory along time. */
export interface MemoryProps {
  runs: ReadonlyMap<string, RunRecord>;
  /** Where a time is, in pixels from the left. */
  toPixels: (time: number) => number;
  width: number;
}

/** What the process has held in memory at the end of each run, as a line; nothing if nobody knows. */
export function Memory({ runs, toPixels, width }: MemoryProps): VNode | null {
  const known = [...runs.values()].flatMap(({ end, memory }) =>
    memory == null ? [] : [{ end, memory }]
  );
  const most = Math.max(...known.map(({ memory }) => memory));
  const last = known.at(-1);
  if (!last) {
    return null;
  }
  const points = known.map(({ end, memory }) => {
    const y = HEIGHT - 2 - (memory / most) * (HEIGHT - 6);
    return { x: toPixels(end), y, memory };
  });
  // What was held stays until the next end says otherwise.
  const path = points
    .map(({ x, y }, index) =>
      index === 0
        ? `M ${x.toFixed(1)} ${y.toFixed(1)}`
        : `H ${x.toFixed(1)} V ${y.toFixed(1)}`
    )
    .join(' ');
  return (
    <div class="nbfn-Timeline-lane">
      <div class="nbfn-Timeline-name">
        <span>{trans.__('Memory')}</span>{' '}
        <span class="nbfn-Note">
          {trans.__('%1 now, %2 at most', size(last.memory), size(most))}
        </span>
      </div>
      <svg
        class="nbfn-Timeline-memory"
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={trans.__(
          'Memory of the process after each run: %1 now, %2 at most',
          size(last.memory),
          size(most)
        )}
      >
        <path d={path} />
        {points.map(({ x, y, memory }) => (
          <circle key={x} cx={x} cy={y} r="2">
            <title>{size(memory)}</title>
          </circle>
        ))}
      </svg>
    </div>
  );
}
