import type { VNode } from 'preact';
import type { TraceRecord } from '../../protocol';
import { CauseText } from '../parts/causeText';
import { CellReference } from '../parts/cellReference';
import { duration, integer, size } from '../parts/format';
import { Limited } from '../parts/limited';
import { Signature } from '../parts/signature';

/** The traces of a function as a table. */
export function TraceTable({ traces }: { traces: readonly TraceRecord[] }): VNode {
  return (
    <Limited items={traces} step={20}>
      {visible => (
        <div class="nbfn-Scroll">
          <table class="nbfn-Table">
            <thead>
              <tr>
                <th scope="col">Trace</th>
                <th scope="col">Signature</th>
                <th scope="col" class="nbfn-mod-number">
                  Hits
                </th>
                <th scope="col" class="nbfn-mod-number" title="Time to trace">
                  Trace time
                </th>
                <th scope="col" class="nbfn-mod-number" title="Time in all its calls">
                  Run time
                </th>
                <th scope="col" class="nbfn-mod-number">
                  Operations
                </th>
                <th scope="col" class="nbfn-mod-number" title="Size of its graph">
                  Size
                </th>
                <th scope="col">Cause</th>
                <th scope="col">Cell</th>
              </tr>
            </thead>
            <tbody>
              {visible.map(trace => (
                <TraceRow key={trace.id} trace={trace} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Limited>
  );
}

function TraceRow({ trace }: { trace: TraceRecord }): VNode {
  return (
    <tr>
      <th scope="row">{integer(trace.number)}</th>
      <td>
        <Signature leaves={trace.signature} />
      </td>
      <td class="nbfn-mod-number">{integer(trace.hits)}</td>
      <td class="nbfn-mod-number">{duration(trace.trace_seconds)}</td>
      <td class="nbfn-mod-number">{duration(trace.run_seconds)}</td>
      <td class="nbfn-mod-number">{integer(trace.operations)}</td>
      <td class="nbfn-mod-number">{size(trace.nbytes)}</td>
      <td>
        <CauseText cause={trace.cause} />
      </td>
      <td>
        <CellReference cell={trace.cell} />
      </td>
    </tr>
  );
}
