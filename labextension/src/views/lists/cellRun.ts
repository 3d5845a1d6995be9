import { retracesOf, tracesOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { RetraceRecord, TraceRecord, TracedCellRecord } from '../../protocol';
import { duration } from '../parts/format';
import type { IconName, Verdict } from '../parts/icons';

/** What an icon can say of the calls of functions. */
export type CallIcon = Exclude<IconName, 'insert' | 'run' | Verdict>;

/** What happened in the last run: the most notable of what its graphs tell. */
export function cellIcon(state: KernelState, cell: TracedCellRecord): CallIcon {
  const has = (rows: typeof retracesOf | typeof tracesOf): boolean =>
    cell.segments.some(segment => {
      const newest = rows(state, segment.function).at(-1);
      return newest !== undefined && isOfLastRun(cell, newest);
    });
  if (cell.segments.length === 0) {
    return 'idle';
  }
  return has(retracesOf) ? 'retrace' : has(tracesOf) ? 'trace' : 'hit';
}

/** Whether a trace or retrace happened in the last run of a cell. */
export function isOfLastRun(
  cell: TracedCellRecord,
  row: RetraceRecord | TraceRecord
): boolean {
  const run = cell.cell?.execution_count;
  return run != null && row.cell?.execution_count === run;
}

/** How long the last run took, and how long it would have taken as Python. */
export function cellTimes(state: KernelState, cell: TracedCellRecord): string {
  const took = duration(cell.seconds);
  if (speedup(state, cell) !== null) {
    return `${took}, eager ${duration(cell.eager_seconds)}`;
  }
  return hasTraced(state, cell) ? `${took} with tracing` : took;
}

/** How many times faster than Python the last run was; null if that cannot be compared. */
export function speedup(state: KernelState, cell: TracedCellRecord): number | null {
  const { seconds, eager_seconds: eager } = cell;
  const known = seconds > 0 && eager !== seconds && !hasTraced(state, cell);
  return known ? eager / seconds : null;
}

function hasTraced(state: KernelState, cell: TracedCellRecord): boolean {
  const icon = cellIcon(state, cell);
  return icon !== 'idle' && (icon !== 'hit' || cell.runs === 1);
}
