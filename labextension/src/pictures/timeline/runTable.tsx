import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { FunctionRecord, RunRecord } from '../../protocol';
import { counts, device, duration, integer, size } from '../../views/parts/format';
import { Limited } from '../../views/parts/limited';
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
  const [open, setOpen] = useState(false);
  return (
    <details
      class="nbfn-Timeline-tables"
      open={open}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>{trans.__('As tables')}</summary>
      {open && (
        <>
          <Limited items={[...runs.values()].reverse()} step={50}>
            {shown => (
              <table class="nbfn-Timeline-table">
                <caption>
                  {trans.__('%1, the newest first', counts.rows(runs.size))}
                </caption>
                <thead>
                  <tr>
                    {headings().map(title => (
                      <th key={title} scope="col">
                        {title}
                      </th>
                    ))}
                    <th scope="col">{trans.__('Traces')}</th>
                    <th scope="col">{trans.__('Memory')}</th>
                    <th scope="col">{trans.__('Ended')}</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map(run => (
                    <RunRow key={run.id} run={run} />
                  ))}
                </tbody>
              </table>
            )}
          </Limited>
          <Limited
            items={[...functions.values()].filter(fn => fn.trace_seconds > 0)}
            step={50}
          >
            {shown => (
              <table class="nbfn-Timeline-table">
                <caption>{trans.__('Functions')}</caption>
                <thead>
                  <tr>
                    {functionHeadings().map(title => (
                      <th key={title} scope="col">
                        {title}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {shown.map(fn => (
                    <tr key={fn.id}>
                      <th scope="row">
                        <code>{seen(fn.name)}</code>
                      </th>
                      <td>{duration(fn.trace_seconds)}</td>
                      <td>
                        {fn.run_seconds > 0
                          ? duration(fn.run_seconds)
                          : trans.__('not measured')}
                      </td>
                      <td>{integer(fn.traces)}</td>
                      <td>{integer(fn.retraces)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </Limited>
        </>
      )}
    </details>
  );
}

const headings = (): string[] => [
  trans.__('Cell'),
  trans.__('At'),
  trans.__('Seconds'),
  trans.__('Tracing'),
  trans.__('Graphs'),
  trans.__('Python'),
  trans.__('Calls')
];

/** What the process held at the end, and each device on which TensorFlow counts. */
function memoryOf({ memory, devices }: RunRecord): string {
  const each = Object.entries(devices ?? {}).map(
    ([name, [bytes]]) => `${seen(device(name))} ${size(bytes ?? 0)}`
  );
  return [...(memory == null ? [] : [size(memory)]), ...each].join(', ');
}

const functionHeadings = (): string[] => [
  trans.__('Function'),
  trans.__('Tracing'),
  trans.__('Running'),
  trans.__('Traces'),
  trans.__('Retraces')
];

function RunRow({ run }: { run: RunRecord }): VNode {
  const { tracing, graph, python } = partsOf(run);
  return (
    <tr>
      <th scope="row">{runName(run)}</th>
      <td>{clock(run.time, TO_THE_SECOND)}</td>
      {[run.seconds, tracing, graph, python].map((seconds, index) => (
        <td key={index}>{duration(seconds)}</td>
      ))}
      <td>{integer(run.calls ?? 0)}</td>
      <td>{integer(run.traces ?? 0)}</td>
      <td>{memoryOf(run)}</td>
      <td>{endingOf(run) || trans.__('ran')}</td>
    </tr>
  );
}
