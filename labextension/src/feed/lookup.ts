import type { FunctionRecord, RetraceRecord, TracedCellRecord } from '../protocol';
import type { KernelState } from './store';

/** The functions of a cell's segments, in the order of its text. */
export function functionsOf(
  state: KernelState,
  cell: TracedCellRecord
): readonly FunctionRecord[] {
  return cell.functions.flatMap(id => state.functions.get(id) ?? []);
}

/** The newest retrace of all functions, or null. */
export function lastRetrace(state: KernelState): RetraceRecord | null {
  let last: RetraceRecord | null = null;
  for (const retrace of state.retraces.values()) {
    if (!last || retrace.time >= last.time) {
      last = retrace;
    }
  }
  return last;
}

/** Adds a row to a group, which is created if missing. */
export function addTo<T>(groups: Map<string, T[]>, id: string, row: T): void {
  const group = groups.get(id);
  if (group) {
    group.push(row);
  } else {
    groups.set(id, [row]);
  }
}

/** Counts each item, the most frequent first. */
export function counted<T>(items: readonly T[]): (readonly [T, number])[] {
  const counts = new Map<T, number>();
  for (const item of items) {
    counts.set(item, (counts.get(item) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one);
}
