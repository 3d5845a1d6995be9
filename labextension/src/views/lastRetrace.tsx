import type { VNode } from 'preact';
import type { RetraceRecord } from '../protocol';
import type { KernelState } from '../feed/store';
import { CellReference } from './parts/cellReference';
import { duration } from './parts/format';
import { RetraceCauses } from './lists/retraceList';

/** The newest retrace of the session: where, what it cost, why, and what to change. */
export function LastRetrace({
  state,
  retrace
}: {
  state: KernelState;
  retrace: RetraceRecord | null;
}): VNode {
  if (!retrace) {
    return <p class="nbfn-Empty">No call has retraced.</p>;
  }
  const name = state.functions.get(retrace.function)?.name;
  return (
    <div class="nbfn-Retrace">
      <div class="nbfn-Facts">
        {name && (
          <span class="nbfn-Fact">
            <code>{name}</code>{' '}
          </span>
        )}
        <span class="nbfn-Fact">{`${duration(retrace.trace_seconds)} to trace `}</span>
        {retrace.cell && (
          <span class="nbfn-Fact">
            <CellReference cell={retrace.cell} />
          </span>
        )}
      </div>
      <RetraceCauses key={retrace.id} retrace={retrace} />
    </div>
  );
}
