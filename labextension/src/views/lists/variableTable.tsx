import type { VNode } from 'preact';
import type { VariableRecord } from '../../protocol';
import { trans } from '../../words';
import { device, shape, size } from '../parts/format';
import { Limited } from '../parts/limited';

/** Captured variables as a table. */
export function VariableTable({
  variables
}: {
  variables: readonly VariableRecord[];
}): VNode {
  return (
    <Limited items={variables} step={20}>
      {visible => (
        <div class="nbfn-Scroll">
          <table class="nbfn-Table">
            <thead>
              <tr>
                <th scope="col">{trans.__('Name')}</th>
                <th scope="col">{trans.__('Shape')}</th>
                <th scope="col">{trans.__('Type')}</th>
                <th scope="col">{trans.__('Device')}</th>
                <th scope="col" class="nbfn-mod-number">
                  {trans.__('Size')}
                </th>
              </tr>
            </thead>
            <tbody>
              {visible.map(variable => (
                <tr key={variable.id}>
                  <th scope="row">
                    <code>{variable.name}</code>
                  </th>
                  <td>
                    <code>{shape(variable.shape)}</code>
                  </td>
                  <td>
                    <code>{variable.dtype}</code>
                  </td>
                  <td title={variable.device}>{device(variable.device)}</td>
                  <td class="nbfn-mod-number">
                    {variable.nbytes == null ? '' : size(variable.nbytes)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Limited>
  );
}
