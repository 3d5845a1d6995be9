import type { VNode } from 'preact';
import { capturesOf, retracesOf, tracesOf } from '../feed/lookup';
import type { KernelState } from '../feed/store';
import type { FunctionRecord } from '../protocol';
import { trans } from '../words';
import { RetraceList } from './lists/retraceList';
import { TraceTable } from './lists/traceTable';
import { VariableTable } from './lists/variableTable';
import { WorkList } from './lists/workList';
import { counts } from './parts/format';
import type { FunctionProps } from './parts/presence';
import { useDetails } from './parts/presence';
import { Section } from './parts/section';
import { StatusLine } from './statusLine';

/** Properties of the view of one function. */
export interface FunctionViewProps {
  state: KernelState | null;
  /** Id of the function. */
  target: string | null;
}

/** What stands under a cell: one line on the last call, and behind it everything else. */
export function FunctionView({ state, target }: FunctionViewProps): VNode {
  const fn = target === null ? undefined : state?.functions.get(target);
  if (!state || !fn) {
    return (
      <p class="nbfn-Empty">{trans.__('This function is no longer in the kernel.')}</p>
    );
  }
  const work = [...state.work.values()].filter(row => row.function === fn.id);
  return (
    <div class="nbfn-FunctionView">
      <WorkList work={work} />
      {(work.length === 0 || fn.last) && <StatusLine state={state} fn={fn} />}
      <Section class="nbfn-Disclosure" title={countsOf(fn)}>
        {() => <FunctionDetails state={state} fn={fn} />}
      </Section>
    </div>
  );
}

/** How often a function was called, and with what traces. */
export function countsOf(fn: FunctionRecord): string {
  return [
    counts.traces(fn.traces),
    counts.calls(fn.calls),
    counts.retraces(fn.retraces)
  ].join(', ');
}

/** The traces, retraces and captured variables of a function. */
export function FunctionDetails({ state, fn }: FunctionProps): VNode {
  const traces = tracesOf(state, fn.id);
  const retraces = retracesOf(state, fn.id);
  const captures = capturesOf(state, traces);
  useDetails({ state, fn });
  return (
    <>
      <h4 class="nbfn-Heading">{trans.__('Traces')}</h4>
      <TraceTable traces={traces} />
      {retraces.length > 0 && (
        <>
          <h4 class="nbfn-Heading">{trans.__('Retraces')}</h4>
          <RetraceList retraces={retraces} />
        </>
      )}
      {captures.length > 0 && (
        <>
          <h4 class="nbfn-Heading">{trans.__('Captured variables')}</h4>
          <VariableTable variables={captures} />
        </>
      )}
    </>
  );
}
