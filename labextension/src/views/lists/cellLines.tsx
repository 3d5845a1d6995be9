import type { VNode } from 'preact';
import type { Line } from '../../feed/lines';
import { linesOf } from '../../feed/lines';
import type { Segment, TracedCellRecord } from '../../protocol';
import { trans } from '../../words';
import { duration } from '../parts/format';
import { Limited } from '../parts/limited';
import { seen } from '../parts/texts';

/** A cell's text, with what is graph and what is Python and why beside it. */
export function CellLines({ cell }: { cell: TracedCellRecord }): VNode {
  return (
    <Limited items={linesOf(cell)} step={100}>
      {visible => (
        <ol class="nbfn-Lines" aria-label={trans.__('Lines of the cell')}>
          {visible.map(line => (
            <CellLine key={line.number} line={line} />
          ))}
        </ol>
      )}
    </Limited>
  );
}

function CellLine({ line }: { line: Line }): VNode {
  const { number, text, reason, segment } = line;
  const runs = reason === null ? 'graph' : 'python';
  return (
    <li class={`nbfn-Line nbfn-mod-${reason === undefined ? 'blank' : runs}`}>
      <span class="nbfn-Line-number">{number}</span>{' '}
      <code class="nbfn-Line-text" title={text}>
        {seen(text)}
      </code>{' '}
      <span class="nbfn-Line-reason">
        {reason === null && (
          <span class={segment ? '' : 'nbfn-mod-unseen'}>{trans.__('graph')}</span>
        )}
        {segment && timesOf(segment)}
        {reason && seen(reason)}
      </span>
    </li>
  );
}

function timesOf({ seconds, eager_seconds: eager }: Segment): string {
  if (seconds == null) {
    return '';
  }
  return eager == null
    ? `: ${duration(seconds)}`
    : `: ${trans.__('%1, eager %2', duration(seconds), duration(eager))}`;
}
