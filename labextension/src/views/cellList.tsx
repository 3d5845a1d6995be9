import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { functionsOf } from '../feed/lookup';
import type { TracedCellRecord } from '../protocol';
import type { KernelState } from '../feed/store';
import { CellLines } from './lists/cellLines';
import { CellReference } from './parts/cellReference';
import { cellIcon, cellTimes, speedup } from './cellView';
import { useFilter } from './parts/filter';
import { count, duration, ratio } from './parts/format';
import { FunctionRow } from './lists/functionList';
import { Icon } from './parts/icons';
import { Limited } from './parts/limited';
import { Section } from './parts/section';

/** The cells that run in segments, each with its lines and the functions of its segments. */
export function CellList({ state }: { state: KernelState }): VNode {
  const all = useMemo(() => [...state.cells.values()], [state.cells]);
  const { items, field } = useFilter(
    all,
    cell => `${cell.name} ${cell.source}`,
    'Filter cells'
  );
  return (
    <>
      {field}
      <Limited items={items} step={50}>
        {visible =>
          visible.map(cell => <CellRow key={cell.id} state={state} cell={cell} />)
        }
      </Limited>
    </>
  );
}

function CellRow({
  state,
  cell
}: {
  state: KernelState;
  cell: TracedCellRecord;
}): VNode {
  const faster = speedup(state, cell);
  return (
    <Section
      class="nbfn-Row"
      title={
        <>
          <Icon name={cellIcon(state, cell)} />
          <code class="nbfn-Row-name">{cell.name}</code>{' '}
          <CellReference cell={cell.cell} />
        </>
      }
      note={duration(cell.seconds) + (faster === null ? '' : ` · ${ratio(faster)}`)}
    >
      {() => (
        <>
          <div class="nbfn-Facts">
            <span class="nbfn-Fact">{`${cell.sentence} `}</span>
            <span class="nbfn-Fact">{`${count(cell.runs, 'run')} `}</span>
            <span class="nbfn-Fact">{cellTimes(state, cell)}</span>
          </div>
          <CellLines cell={cell} />
          {functionsOf(state, cell).map(fn => (
            <FunctionRow key={fn.id} state={state} fn={fn} />
          ))}
        </>
      )}
    </Section>
  );
}
