import type {
  FunctionRecord,
  RetraceRecord,
  TraceRecord,
  TracedCellRecord
} from '../protocol';
import type { KernelState } from './store';

type Rows<T> = ReadonlyMap<string, readonly T[]>;

const NONE: readonly never[] = [];

/** The traces of a function, oldest first. */
export function tracesOf(
  state: KernelState,
  functionId: string
): readonly TraceRecord[] {
  return traceIndex(state.traces).get(functionId) ?? NONE;
}

/** The retraces of a function, oldest first. */
export function retracesOf(
  state: KernelState,
  functionId: string
): readonly RetraceRecord[] {
  return retraceIndex(state.retraces).get(functionId) ?? NONE;
}

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
    last = retrace;
  }
  return last;
}

const traceIndex = byFunction<TraceRecord>();
const retraceIndex = byFunction<RetraceRecord>();

/** Groups a table by function, once per table: tables never change, so they can be keys. */
function byFunction<T extends { function: string }>(): (
  table: ReadonlyMap<string, T>
) => Rows<T> {
  const known = new WeakMap<ReadonlyMap<string, T>, Rows<T>>();
  return table => {
    let index = known.get(table);
    if (!index) {
      const groups = new Map<string, T[]>();
      for (const row of table.values()) {
        const group = groups.get(row.function);
        if (group) {
          group.push(row);
        } else {
          groups.set(row.function, [row]);
        }
      }
      index = groups;
      known.set(table, index);
    }
    return index;
  };
}
