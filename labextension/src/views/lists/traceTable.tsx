import type { VNode } from 'preact';
import type { TraceRecord } from '../../protocol';
import { trans } from '../../words';
import { CauseText } from '../parts/causeText';
import { CellReference } from '../parts/cellReference';
import { duration, integer, size } from '../parts/format';
import type { Column } from '../parts/limited';
import { Table } from '../parts/limited';
import { Signature } from '../parts/signature';

/** The traces of a function as a table. */
export function TraceTable({ traces }: { traces: readonly TraceRecord[] }): VNode {
  return <Table rows={traces} columns={columns()} />;
}

const columns = (): Column<TraceRecord>[] => [
  { name: trans.__('Trace'), of: trace => integer(trace.number) },
  {
    name: trans.__('Signature'),
    of: trace => <Signature leaves={trace.signature} />
  },
  { name: trans.__('Hits'), isNumber: true, of: trace => integer(trace.hits) },
  {
    name: trans.__('Trace time'),
    title: trans.__('Time to trace'),
    isNumber: true,
    of: trace => duration(trace.trace_seconds)
  },
  {
    name: trans.__('Run time'),
    title: trans.__('Time in all its calls'),
    isNumber: true,
    of: trace => duration(trace.run_seconds)
  },
  {
    name: trans.__('Operations'),
    isNumber: true,
    of: trace => integer(trace.operations)
  },
  {
    name: trans.__('Size'),
    title: trans.__('Size of its graph'),
    isNumber: true,
    of: trace => size(trace.nbytes)
  },
  { name: trans.__('Cause'), of: trace => <CauseText cause={trace.cause} /> },
  { name: trans.__('Cell'), of: trace => <CellReference cell={trace.cell} /> }
];
