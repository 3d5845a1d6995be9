import type { VNode } from 'preact';
import type { KernelState } from '../feed/store';
import type { Totals } from '../protocol';
import { MEANINGS } from '../protocol';
import { trans } from '../words';
import { CellList, FunctionList, ModelList } from './lists/lists';
import { RunCellLink } from './lists/runCellLink';
import { OutlineDetails } from './outlines/outlineView';
import { WorkList } from './outlines/workList';
import { integer } from './parts/format';
import type { SectionProps } from './parts/section';
import { Section } from './parts/section';
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
      <div class="nbfn-Totals">
        <OutlineDetails state={state} target="totals" />
      </div>
      {(totals.retraces ?? 0) > 0 && (
        <Part title={trans.__('Retraces')} totals={totals} counted="retraces">
          {() => <OutlineDetails state={state} target="retraces" />}
        </Part>
      )}
      {state.cells.size > 0 && (
        <Part title={trans.__('Cells')} totals={totals} counted="cells">
          {() => <CellList state={state} />}
        </Part>
      )}
      <Part title={trans.__('Functions')} totals={totals} counted="functions">
        {() => (
          <>
            <FunctionList state={state} />
            {state.functions.size > 0 && (
              <RunCellLink
                code={'import nbfn\nnbfn.session().dependencies'}
                title={trans.__(
                  'Run a cell that shows what depends on what, and what to run again'
                )}
              >
                {trans.__('what is stale')}
              </RunCellLink>
            )}
          </>
        )}
      </Part>
      <Part
        title={trans.__('Timeline')}
        totals={totals}
        counted="runs"
        note={timelineNote(totals)}
        open={false}
      >
        {() => <Timeline state={state} />}
      </Part>
      {state.models.size > 0 && (
        <Part title={trans.__('Models')} totals={totals} counted="models" open={false}>
          {() => <ModelList state={state} />}
        </Part>
      )}
      <Part
        title={trans.__('Variables')}
        totals={totals}
        counted="variables"
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
      <Part title={trans.__('Devices')} totals={totals} counted="devices" open={false}>
        {() => (
          <>
            <OutlineDetails state={state} target="devices" />
            {state.devices.size > 0 && (
              <RunCellLink
                code={'import nbfn\nnbfn.session().placement'}
                title={trans.__(
                  'Run a cell that shows what each device holds and has run, and what was copied'
                )}
              >
                {trans.__('what they hold and have run')}
              </RunCellLink>
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

/** Properties of a part of the session. */
interface PartProps extends Omit<SectionProps, 'class' | 'hint'> {
  totals: Totals;
  /** The total in its title, whose definition is shown on hover. */
  counted: keyof Totals;
}

/** A part of the session, open by default. */
function Part({ totals, counted, ...others }: PartProps): VNode {
  return (
    <Section
      class="nbfn-Section"
      open
      note={integer(totals[counted] ?? 0)}
      hint={MEANINGS[counted]}
      {...others}
    />
  );
}
