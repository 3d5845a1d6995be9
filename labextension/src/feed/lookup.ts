import type {
  FunctionRecord,
  RetraceRecord,
  TraceRecord,
  TracedCellRecord
} from '../protocol';
import type { KernelState } from './store';

const NONE: readonly never[] = [];

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

/** The names of the functions whose traces capture a variable. */
export function usersOf(state: KernelState, variableId: string): readonly string[] {
  const traces = tracesByCapture(state.traces).get(variableId) ?? NONE;
  const ids = new Set(traces.map(trace => trace.function));
  return [...ids].flatMap(id => state.functions.get(id)?.name ?? []);
}

const tracesByCapture = indexed<TraceRecord>(trace => trace.captures);

/** Computes something of a table once per table: tables never change, so they can be keys. */
export function once<T extends object, R>(compute: (table: T) => R): (table: T) => R {
  const known = new WeakMap<T, R>();
  return table => {
    let found = known.get(table);
    if (found === undefined) {
      found = compute(table);
      known.set(table, found);
    }
    return found;
  };
}

/** Groups the rows of a table. */
function indexed<T>(
  groupsOf: (row: T) => readonly string[]
): (table: ReadonlyMap<string, T>) => ReadonlyMap<string, readonly T[]> {
  return once(table => {
    const index = new Map<string, T[]>();
    for (const row of table.values()) {
      for (const id of groupsOf(row)) {
        addTo(index, id, row);
      }
    }
    return index;
  });
}

/** Adds a row to a group, which may be the first of its group. */
export function addTo<T>(groups: Map<string, T[]>, id: string, row: T): void {
  const group = groups.get(id);
  if (group) {
    group.push(row);
  } else {
    groups.set(id, [row]);
  }
}
