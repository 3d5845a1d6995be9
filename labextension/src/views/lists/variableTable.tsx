import type { VNode } from 'preact';
import type { VariableRecord } from '../../protocol';
import { trans } from '../../words';
import { device, shape, size } from '../parts/format';
import type { Column } from '../parts/limited';
import { Table } from '../parts/limited';

/** Captured variables as a table. */
export function VariableTable({
  variables
}: {
  variables: readonly VariableRecord[];
}): VNode {
  return <Table rows={variables} columns={columns()} />;
}

const columns = (): Column<VariableRecord>[] => [
  { name: trans.__('Name'), of: one => <code>{one.name}</code> },
  { name: trans.__('Shape'), of: one => <code>{shape(one.shape)}</code> },
  { name: trans.__('Type'), of: one => <code>{one.dtype}</code> },
  {
    name: trans.__('Device'),
    of: one => <span title={one.device}>{device(one.device)}</span>
  },
  {
    name: trans.__('Size'),
    isNumber: true,
    of: one => (one.nbytes == null ? '' : size(one.nbytes))
  }
];
