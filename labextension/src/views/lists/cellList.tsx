import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { functionsOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { TracedCellRecord } from '../../protocol';
import { CellReference } from '../parts/cellReference';
import { Fact } from '../parts/texts';
import { useFilter } from '../parts/filter';
import { count, duration, ratio } from '../parts/format';
import { Icon } from '../parts/icons';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';
import { CellLines } from './cellLines';
import { cellIcon, cellTimes, speedup } from './cellRun';
import { FunctionRow } from './functionList';

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
            <Fact>{cell.sentence}</Fact>
            <Fact>{count(cell.runs, 'run')}</Fact>
            <Fact>{cellTimes(state, cell)}</Fact>
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
