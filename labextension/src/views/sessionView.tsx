import type { VNode } from 'preact';
import type { KernelState } from '../feed/store';
import type { Totals } from '../protocol';
import { MEANINGS } from '../protocol';
import { trans } from '../words';
import { CellList, FunctionList, ModelList } from './lists/lists';
import { Question } from './lists/question';
import { OutlineDetails } from './outlines/outlineView';
import { WorkList } from './outlines/workList';
import { counts, duration, integer, size } from './parts/format';
import type { SectionProps } from './parts/section';
import { Section } from './parts/section';
import { Fact, Sentence } from './parts/texts';
import { Timeline, timelineNote } from './timeline';

/** A kernel's whole session: functions, the last retrace, captured variables, devices. */
export function SessionView({ state }: { state: KernelState | null }): VNode {
  return state ? (
    <Session state={state} />
  ) : (
    <p class="nbfn-Empty">{trans.__('Nothing has been traced yet.')}</p>
  );
}

function Session({ state }: { state: KernelState }): VNode {
  const { totals } = state;
  return (
    <div class="nbfn-SessionView">
      <WorkList work={[...state.work.values()]} />
      {state.auto && <Auto />}
      <TotalsLine totals={totals} />
      {(totals.retraces ?? 0) > 0 && (
        <Part
          title={trans.__('Retraces')}
          note={integer(totals.retraces ?? 0)}
          hint={MEANINGS.retraces}
        >
          {() => <OutlineDetails state={state} target="retraces" />}
        </Part>
      )}
      {state.cells.size > 0 && (
        <Part
          title={trans.__('Cells')}
          note={integer(totals.cells ?? 0)}
          hint={MEANINGS.cells}
        >
          {() => <CellList state={state} />}
        </Part>
      )}
      <Part
        title={trans.__('Functions')}
        note={integer(totals.functions ?? 0)}
        hint={MEANINGS.functions}
      >
        {() => (
          <>
            <FunctionList state={state} />
            {state.functions.size > 0 && (
              <Question
                code={'import nbfn\nnbfn.session().dependencies'}
                title={trans.__(
                  'Run a cell that shows what depends on what, and what to run again'
                )}
              >
                {trans.__('what is stale')}
              </Question>
            )}
          </>
        )}
      </Part>
      <Part title={trans.__('Timeline')} note={timelineNote(state)} open={false}>
        {() => <Timeline state={state} />}
      </Part>
      {state.models.size > 0 && (
        <Part title={trans.__('Models')} note={integer(state.models.size)} open={false}>
          {() => <ModelList state={state} />}
        </Part>
      )}
      <Part
        title={trans.__('Variables')}
        note={integer(totals.variables ?? 0)}
        hint={MEANINGS.variables}
        open={false}
      >
        {() => (
          <>
            <OutlineDetails state={state} target="variables" />
            {(totals.variables ?? 0) > 0 && (
              <Section
                class="nbfn-PageTable"
                title={trans.__('values')}
                note={trans.__('mean, extremes, histogram')}
              >
                {() => <OutlineDetails state={state} target="values" />}
              </Section>
            )}
          </>
        )}
      </Part>
      <Part title={trans.__('Devices')} note={integer(state.devices.size)} open={false}>
        {() => (
          <>
            <OutlineDetails state={state} target="devices" />
            {state.devices.size > 0 && (
              <Question
                code={'import nbfn\nnbfn.session().placement'}
                title={trans.__(
                  'Run a cell that shows what each device holds and has run, and what was copied'
                )}
              >
                {trans.__('what they hold and have run')}
              </Question>
            )}
          </>
        )}
      </Part>
      <p class="nbfn-Footer">
        {`nbfn ${state.nbfn}`}
        {state.tensorflow !== null && `, TensorFlow ${state.tensorflow}`}
      </p>
    </div>
  );
}

/** A part of the session, open by default. */
function Part(props: Omit<SectionProps, 'class'>): VNode {
  return <Section class="nbfn-Section" open {...props} />;
}

/** What `%tf_auto` does as long as it is on. */
function Auto(): VNode {
  return (
    <p class="nbfn-Auto">
      <Sentence
        text={trans.__(
          '`%tf_auto` is on: cells without a magic of their own run in segments'
        )}
      />
    </p>
  );
}

/** How much there is, and what it has cost. */
function TotalsLine({ totals }: { totals: Totals }): VNode | null {
  const { calls = 0, traces = 0, retraces = 0, trace_seconds = 0 } = totals;
  const { trace_nbytes = 0, variable_nbytes = 0 } = totals;
  if (traces === 0) {
    return null;
  }
  return (
    <div class="nbfn-Facts nbfn-Totals">
      <Fact title={MEANINGS.calls}>{counts.calls(calls)}</Fact>
      <Fact title={MEANINGS.traces}>{counts.traces(traces)}</Fact>
      <Fact title={MEANINGS.retraces}>{counts.retraces(retraces)}</Fact>
      <Fact title={MEANINGS.trace_seconds}>
        {trans.__('%1 to trace', duration(trace_seconds))}
      </Fact>
      <Fact
        title={trans.__(
          'Graphs %1, variables %2',
          size(trace_nbytes),
          size(variable_nbytes)
        )}
      >
        {size(trace_nbytes + variable_nbytes)}
      </Fact>
    </div>
  );
}
