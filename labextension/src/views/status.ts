import { retracesOf, tracesOf } from '../lookup';
import type { Cause, FunctionRecord, RetraceRecord, TraceRecord } from '../protocol';
import type { KernelState } from '../store';

/** What the last call of a function was, with what there is to say about it. */
export type Status =
  | { kind: 'idle' }
  | { kind: 'hit'; trace: TraceRecord | null }
  | { kind: 'trace'; trace: TraceRecord | null }
  | { kind: 'retrace'; retrace: RetraceRecord | null; trace: TraceRecord | null };

/** What the last call of a function was. */
export function statusOf(state: KernelState, fn: FunctionRecord): Status {
  const trace =
    (fn.last_trace ? state.traces.get(fn.last_trace) : undefined) ??
    tracesOf(state, fn.id).at(-1) ??
    null;
  switch (fn.last) {
    case 'hit':
    case 'trace':
      return { kind: fn.last, trace };
    case 'retrace': {
      const known = fn.last_retrace ? state.retraces.get(fn.last_retrace) : undefined;
      const retrace = known ?? retracesOf(state, fn.id).at(-1) ?? null;
      return { kind: 'retrace', retrace, trace };
    }
    default:
      return { kind: 'idle' };
  }
}

/** The cause that a first trace should tell: none if it is only that it was the first. */
export function notableCause(trace: TraceRecord | null): Cause | null {
  return trace && trace.cause.code !== 'first_trace' ? trace.cause : null;
}
