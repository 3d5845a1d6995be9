import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { functionsOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord, TracedCellRecord } from '../../protocol';
import { trans } from '../../words';
import { OutlineDetails } from '../outlines/outlineView';
import { cellText } from '../parts/cellReference';
import { useFilter } from '../parts/filter';
import { counts, duration, ratio, size } from '../parts/format';
import { Icon } from '../parts/icons';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';
import type { Order } from './sorting';
import { useSorting } from './sorting';

/** The cells that run in segments, each with its lines and the functions of its segments. */
export function CellList({ state }: { state: KernelState }): VNode {
  const all = useMemo(() => [...state.cells.values()], [state.cells]);
  const filtered = useFilter(
    all,
    cell => `${cell.name} ${cell.source}`,
    trans.__('Filter cells')
  );
  const orders = useMemo(() => ordersOf(state), [state]);
  const sorted = useSorting(filtered.items, orders, cell => duration(cell.seconds));
  return (
    <>
      {filtered.field}
      {sorted.field}
      <Limited items={sorted.items} step={50}>
        {visible =>
          visible.map(cell => (
            <CellRow key={cell.id} state={state} cell={cell} note={sorted.text(cell)} />
          ))
        }
      </Limited>
    </>
  );
}

const last = (): Record<NonNullable<TracedCellRecord['call']>, string> => ({
  hit: trans.__('last run: hits only'),
  trace: trans.__('last run: traced'),
  retrace: trans.__('last run: retraced'),
  idle: trans.__('no graphs')
});

/** The orders of cells; what their functions cost is theirs. */
function ordersOf(state: KernelState): readonly Order<TracedCellRecord>[] {
  const sum = (of: (fn: FunctionRecord) => number) => (cell: TracedCellRecord) =>
    functionsOf(state, cell).reduce((total, fn) => total + of(fn), 0);
  return [
    { name: trans.__('runs'), value: cell => cell.runs, text: counts.runs },
    { name: trans.__('traces'), value: sum(fn => fn.traces), text: counts.traces },
    { name: trans.__('time of a run'), value: cell => cell.seconds, text: duration },
    {
      name: trans.__('time lost to tracing'),
      value: sum(fn => fn.trace_seconds),
      text: duration
    },
    { name: trans.__('size of the graphs'), value: sum(fn => fn.nbytes), text: size }
  ];
}

function CellRow({
  state,
  cell,
  note
}: {
  state: KernelState;
  cell: TracedCellRecord;
  note: string;
}): VNode {
  const { call = 'idle', speedup } = cell;
  return (
    <Section
      class="nbfn-Row"
      title={
        <>
          <Icon name={call} label={last()[call]} />
          <code class="nbfn-Row-name">{cell.name}</code>{' '}
          {cell.cell && <span class="nbfn-Muted">{cellText(cell.cell)}</span>}
        </>
      }
      note={note + (speedup == null ? '' : ` · ${ratio(speedup)}`)}
    >
      {() => <OutlineDetails state={state} target={cell.id} />}
    </Section>
  );
}
