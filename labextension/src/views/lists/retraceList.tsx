import type { VNode } from 'preact';
import type { RetraceRecord } from '../../protocol';
import { CauseText } from '../parts/causeText';
import { CellReference } from '../parts/cellReference';
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
              <RetraceHead retrace={retrace} />
              <RetraceCauses retrace={retrace} />
            </li>
          ))}
        </ol>
      )}
    </Limited>
  );
}

function RetraceHead({ retrace }: { retrace: RetraceRecord }): VNode {
  return (
    <div class="nbfn-Facts">
      <span class="nbfn-Fact">{`Retrace ${integer(retrace.number)} `}</span>
      <span class="nbfn-Fact">{`${duration(retrace.trace_seconds)} to trace `}</span>
      {retrace.cell && (
        <span class="nbfn-Fact">
          <CellReference cell={retrace.cell} />{' '}
        </span>
      )}
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
        <p class="nbfn-Muted">Settled: its trace has been replaced.</p>
      ) : (
        retrace.remedy && (
          <RemedyButton remedy={retrace.remedy} cellId={retrace.cell?.id} />
        )
      )}
    </>
  );
}
