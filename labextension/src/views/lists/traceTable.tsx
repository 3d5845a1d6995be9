import type { VNode } from 'preact';
import type { TraceRecord } from '../../protocol';
import { trans } from '../../words';
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
                <th scope="col">{trans.__('Trace')}</th>
                <th scope="col">{trans.__('Signature')}</th>
                <th scope="col" class="nbfn-mod-number">
                  {trans.__('Hits')}
                </th>
                <th
                  scope="col"
                  class="nbfn-mod-number"
                  title={trans.__('Time to trace')}
                >
                  {trans.__('Trace time')}
                </th>
                <th
                  scope="col"
                  class="nbfn-mod-number"
                  title={trans.__('Time in all its calls')}
                >
                  {trans.__('Run time')}
                </th>
                <th scope="col" class="nbfn-mod-number">
                  {trans.__('Operations')}
                </th>
                <th
                  scope="col"
                  class="nbfn-mod-number"
                  title={trans.__('Size of its graph')}
                >
                  {trans.__('Size')}
                </th>
                <th scope="col">{trans.__('Cause')}</th>
                <th scope="col">{trans.__('Cell')}</th>
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
