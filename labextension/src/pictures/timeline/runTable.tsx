import type { VNode } from 'preact';
import type { FunctionRecord, PageTable, RunRecord } from '../../protocol';
import { Tables } from '../../views/tables/tables';
import { device, duration, integer, size } from '../../views/parts/format';
import { Section } from '../../views/parts/section';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';
import { endingOf, partsOf, runName } from '../spending/runs';
import { clock } from './timeAxis';

/** A minute: `clock` then shows seconds. */
const TO_THE_SECOND = 60;

/** The picture as tables, for reading and for screen readers. */
export function RunTable({
  runs,
  functions
}: {
  runs: ReadonlyMap<string, RunRecord>;
  functions: ReadonlyMap<string, FunctionRecord>;
}): VNode {
  return (
    <Section class="nbfn-Timeline-tables" title={trans.__('As tables')}>
      {() => (
        <Tables
          tables={[
            ofRuns([...runs.values()].reverse()),
            ofFunctions([...functions.values()])
          ]}
        />
      )}
    </Section>
  );
}

function ofRuns(runs: readonly RunRecord[]): PageTable {
  return table(
    trans.__('cells'),
    {
      [trans.__('cell')]: runName,
      [trans.__('at')]: run => clock(run.time, TO_THE_SECOND),
      [trans.__('took')]: run => duration(run.seconds),
      [trans.__('tracing')]: run => duration(partsOf(run).tracing),
      [trans.__('graphs')]: run => duration(partsOf(run).graph),
      [trans.__('Python')]: run => duration(partsOf(run).python),
      [trans.__('calls')]: run => integer(run.calls ?? 0),
      [trans.__('traces')]: run => integer(run.traces ?? 0),
      [trans.__('memory')]: memoryOf,
      [trans.__('ended')]: run => endingOf(run) || trans.__('ran')
    },
    runs
  );
}

function ofFunctions(functions: readonly FunctionRecord[]): PageTable {
  return table(
    trans.__('functions'),
    {
      [trans.__('function')]: fn => fn.name,
      [trans.__('tracing')]: fn => duration(fn.trace_seconds),
      [trans.__('running')]: fn => (fn.run_seconds > 0 ? duration(fn.run_seconds) : ''),
      [trans.__('traces')]: fn => integer(fn.traces),
      [trans.__('retraces')]: fn => integer(fn.retraces)
    },
    functions.filter(fn => fn.trace_seconds > 0)
  );
}

function table<T>(
  title: string,
  columns: Record<string, (row: T) => string>,
  all: readonly T[]
): PageTable {
  const rows = all.map(row => Object.values(columns).map(textOf => textOf(row)));
  return { title, header: Object.keys(columns), rows, total: rows.length, open: true };
}

/** The memory of the process at the end, and of each device that TensorFlow counts. */
function memoryOf({ memory, devices }: RunRecord): string {
  const each = Object.entries(devices ?? {}).map(
    ([name, [bytes]]) => `${seen(device(name))} ${size(bytes ?? 0)}`
  );
  return [...(memory == null ? [] : [size(memory)]), ...each].join(', ');
}
