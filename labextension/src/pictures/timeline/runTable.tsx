import type { VNode } from 'preact';
import type { FunctionRecord, RunRecord } from '../../protocol';
import { counts, device, duration, integer, size } from '../../views/parts/format';
import type { Column } from '../../views/parts/limited';
import { Table } from '../../views/parts/limited';
import { Section } from '../../views/parts/section';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';
import { endingOf, partsOf, runName } from '../spending/runs';
import { clock } from './timeAxis';

/** A day, so that times are told to the second. */
const TO_THE_SECOND = 60;

/** The picture as tables, for who reads it and for screen readers. */
export function RunTable({
  runs,
  functions
}: {
  runs: ReadonlyMap<string, RunRecord>;
  functions: ReadonlyMap<string, FunctionRecord>;
}): VNode {
  const shape = { class: 'nbfn-Timeline-table', step: 50 };
  return (
    <Section class="nbfn-Timeline-tables" title={trans.__('As tables')}>
      {() => (
        <>
          <Table
            {...shape}
            caption={trans.__('%1, the newest first', counts.rows(runs.size))}
            rows={[...runs.values()].reverse()}
            columns={ofRuns()}
          />
          <Table
            {...shape}
            caption={trans.__('Functions')}
            rows={[...functions.values()].filter(fn => fn.trace_seconds > 0)}
            columns={ofFunctions()}
          />
        </>
      )}
    </Section>
  );
}

const ofRuns = (): Column<RunRecord>[] => [
  { name: trans.__('Cell'), of: runName },
  { name: trans.__('At'), of: run => clock(run.time, TO_THE_SECOND) },
  { name: trans.__('Seconds'), of: run => duration(run.seconds) },
  { name: trans.__('Tracing'), of: run => duration(partsOf(run).tracing) },
  { name: trans.__('Graphs'), of: run => duration(partsOf(run).graph) },
  { name: trans.__('Python'), of: run => duration(partsOf(run).python) },
  { name: trans.__('Calls'), of: run => integer(run.calls ?? 0) },
  { name: trans.__('Traces'), of: run => integer(run.traces ?? 0) },
  { name: trans.__('Memory'), of: memoryOf },
  { name: trans.__('Ended'), of: run => endingOf(run) || trans.__('ran') }
];

const ofFunctions = (): Column<FunctionRecord>[] => [
  { name: trans.__('Function'), of: fn => <code>{seen(fn.name)}</code> },
  { name: trans.__('Tracing'), of: fn => duration(fn.trace_seconds) },
  {
    name: trans.__('Running'),
    of: fn => (fn.run_seconds > 0 ? duration(fn.run_seconds) : trans.__('not measured'))
  },
  { name: trans.__('Traces'), of: fn => integer(fn.traces) },
  { name: trans.__('Retraces'), of: fn => integer(fn.retraces) }
];

/** What the process held at the end, and each device on which TensorFlow counts. */
function memoryOf({ memory, devices }: RunRecord): string {
  const each = Object.entries(devices ?? {}).map(
    ([name, [bytes]]) => `${seen(device(name))} ${size(bytes ?? 0)}`
  );
  return [...(memory == null ? [] : [size(memory)]), ...each].join(', ');
}
