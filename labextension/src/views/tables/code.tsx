import type { VNode } from 'preact';
import type { PageTable } from '../../protocol';
import { trans } from '../../words';
import { Limited } from '../parts/limited';
import { seen } from '../parts/texts';
import { textOf } from '../parts/words';

/** A cell's text, with whether each line is graph or Python, and why. */
export function Code({ table }: { table: PageTable }): VNode {
  return (
    <Limited items={table.rows} step={100}>
      {visible => (
        <div class="nbfn-Scroll">
          <ol class="nbfn-Lines" aria-label={trans.__('Lines of the cell')}>
            {visible.map((row, index) => (
              <CodeLine key={index} row={row.map(textOf)} />
            ))}
          </ol>
        </div>
      )}
    </Limited>
  );
}

function CodeLine({ row }: { row: readonly string[] }): VNode {
  const [number = '', runs = '', why = '', text = '', time = ''] = row;
  const isGraph = runs === 'graph';
  return (
    <li class={`nbfn-Line nbfn-mod-${isGraph ? 'graph' : runs ? 'python' : 'blank'}`}>
      <span class="nbfn-Line-number">{number}</span>{' '}
      <code class="nbfn-Line-text" title={text}>
        {seen(text)}
      </code>{' '}
      <span class="nbfn-Line-reason">
        {isGraph && (
          <span class={time ? '' : 'nbfn-mod-unseen'}>{trans.__('graph')}</span>
        )}
        {time && `: ${time}`}
        {seen(why)}
      </span>
    </li>
  );
}
