import type { ComponentChildren, VNode } from 'preact';
import type { KernelState } from '../../feed/store';
import type { RetraceRecord } from '../../protocol';
import { trans } from '../../words';
import { CauseText } from '../parts/causeText';
import { CellFact } from '../parts/cellReference';
import { Fact, seen } from '../parts/texts';
import { duration, integer } from '../parts/format';
import { Limited } from '../parts/limited';
import { RemedyButton } from '../parts/remedyButton';

/** The retraces of a function, newest first, with their causes and remedies. */
export function RetraceList({
  retraces
}: {
  retraces: readonly RetraceRecord[];
}): VNode {
  return (
    <Limited items={[...retraces].reverse()} step={10}>
      {visible => (
        <ol class="nbfn-List" reversed>
          {visible.map(retrace => (
            <li key={retrace.id} class="nbfn-Retrace">
              <RetraceFacts retrace={retrace}>
                <Fact>{trans.__('Retrace %1', integer(retrace.number))}</Fact>
              </RetraceFacts>
              <RetraceCauses retrace={retrace} />
            </li>
          ))}
        </ol>
      )}
    </Limited>
  );
}

/** The newest retrace of the session: where, what it cost, why, and what to change. */
export function LastRetrace({
  state,
  retrace
}: {
  state: KernelState;
  retrace: RetraceRecord | null;
}): VNode {
  if (!retrace) {
    return <p class="nbfn-Empty">{trans.__('No call has retraced.')}</p>;
  }
  const name = state.functions.get(retrace.function)?.name;
  return (
    <div class="nbfn-Retrace">
      <RetraceFacts retrace={retrace}>
        {name && (
          <Fact>
            <code>{seen(name)}</code>
          </Fact>
        )}
      </RetraceFacts>
      <RetraceCauses key={retrace.id} retrace={retrace} />
    </div>
  );
}

/** What a retrace cost and where it was, after what tells it from others. */
function RetraceFacts({
  retrace,
  children
}: {
  retrace: RetraceRecord;
  children: ComponentChildren;
}): VNode {
  return (
    <div class="nbfn-Facts">
      {children}
      <Fact>{trans.__('%1 to trace', duration(retrace.trace_seconds))}</Fact>
      <CellFact cell={retrace.cell} />
    </div>
  );
}

/** The causes of a retrace, and its remedy. */
export function RetraceCauses({ retrace }: { retrace: RetraceRecord }): VNode {
  return (
    <>
      <ul class="nbfn-Causes">
        {retrace.causes.map((cause, index) => (
          <li key={index}>
            <CauseText cause={cause} />
          </li>
        ))}
      </ul>
      {retrace.settled ? (
        <p class="nbfn-Muted">{trans.__('Settled: its trace has been replaced.')}</p>
      ) : (
        retrace.remedy && (
          <RemedyButton remedy={retrace.remedy} cellId={retrace.cell?.id} />
        )
      )}
    </>
  );
}
