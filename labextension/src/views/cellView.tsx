import type { VNode } from 'preact';
import { functionsOf, retracesOf } from '../feed/lookup';
import type { KernelState } from '../feed/store';
import type { FunctionRecord, RetraceRecord, TracedCellRecord } from '../protocol';
import { trans } from '../words';
import { countsOf, FunctionDetails } from './functionView';
import { CellLines } from './lists/cellLines';
import { cellIcon, cellTimes, isOfLastRun } from './lists/cellRun';
import { WorkList } from './lists/workList';
import { CauseText } from './parts/causeText';
import { Fact, Spoken } from './parts/texts';
import { counts, duration } from './parts/format';
import { Icon } from './parts/icons';
import { RemedyButton } from './parts/remedyButton';
import { Section } from './parts/section';
import { StatusText } from './statusLine';

const MAX_REASONS = 4;

/** Properties of the view of one cell. */
export interface CellViewProps {
  state: KernelState | null;
  /** Id of the cell. */
  target: string | null;
}

/** What stands under a cell that runs in segments: one line, and behind it everything else. */
export function CellView({ state, target }: CellViewProps): VNode {
  const cell = target === null ? undefined : state?.cells.get(target);
  if (!state || !cell) {
    return (
      <p class="nbfn-Empty">{trans.__('This cell is no longer in the kernel.')}</p>
    );
  }
  const functions = functionsOf(state, cell);
  const work = [...state.work.values()].filter(row =>
    functions.some(fn => fn.id === row.function)
  );
  return (
    <div class="nbfn-CellView">
      <WorkList work={work} />
      <Section class="nbfn-Disclosure" title={<CellLine state={state} cell={cell} />}>
        {() => <CellDetails state={state} cell={cell} functions={functions} />}
      </Section>
      {cell.segments
        .flatMap(segment => retracesOf(state, segment.function).at(-1) ?? [])
        .filter(retrace => isOfLastRun(cell, retrace))
        .map(retrace => (
          <Retraced key={retrace.id} state={state} retrace={retrace} />
        ))}
    </div>
  );
}

/** One line: what is graph, what is Python and why, and how long the last run took. */
function CellLine({
  state,
  cell
}: {
  state: KernelState;
  cell: TracedCellRecord;
}): VNode {
  const more = cell.python.length - MAX_REASONS;
  const reasons = more > 1 ? cell.python.slice(0, MAX_REASONS) : cell.python;
  return (
    <span class="nbfn-CellLine">
      <Spoken text={cell.sentence} />
      <Icon name={cellIcon(state, cell)} />
      <Fact>{cell.sentence}</Fact>
      {reasons.length > 0 && (
        <Fact>
          {trans.__('Python: %1', reasons.join(', '))}
          {more > 1 && ` ${trans.__('and %1', counts.morePlaces(more))}`}
        </Fact>
      )}
      <Fact>{cellTimes(state, cell)}</Fact>
    </span>
  );
}

/** A retrace in the last run, with its cause and what to do about it. */
function Retraced({
  state,
  retrace
}: {
  state: KernelState;
  retrace: RetraceRecord;
}): VNode {
  return (
    <div class="nbfn-StatusLine">
      <StatusText kind="retrace" name={state.functions.get(retrace.function)?.name}>
        {': '}
        {retrace.causes.map((cause, index) => (
          <Fact key={index}>
            <CauseText cause={cause} />
          </Fact>
        ))}
        <Fact>{trans.__('%1 to trace', duration(retrace.trace_seconds))}</Fact>
      </StatusText>
      {retrace.remedy && !retrace.settled && (
        <RemedyButton remedy={retrace.remedy} cellId={retrace.cell?.id} />
      )}
    </div>
  );
}

function CellDetails({
  state,
  cell,
  functions
}: {
  state: KernelState;
  cell: TracedCellRecord;
  functions: readonly FunctionRecord[];
}): VNode {
  const inUse = new Set(cell.segments.map(segment => segment.function));
  return (
    <>
      <CellLines cell={cell} />
      {functions.map(fn => (
        <Section
          key={fn.id}
          class="nbfn-Row"
          title={<code>{fn.name}</code>}
          note={countsOf(fn) + (inUse.has(fn.id) ? '' : ', not in use')}
          open={functions.length === 1}
        >
          {() => <FunctionDetails state={state} fn={fn} />}
        </Section>
      ))}
    </>
  );
}
