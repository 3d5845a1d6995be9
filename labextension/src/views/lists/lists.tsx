import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { KernelState } from '../../feed/store';
import { trans } from '../../words';
import { OutlineDetails } from '../outlines/outlineView';
import { List, Row } from './list';
import { RunCellLink } from './runCellLink';

/** Properties of a list of a session. */
interface ListProps {
  state: KernelState;
}

/** The functions that do not belong to cells in segments. */
export function FunctionList({ state }: ListProps): VNode {
  const functions = useMemo(() => {
    const inCells = new Set([...state.cells.values()].flatMap(cell => cell.functions));
    return [...state.functions.values()].filter(fn => !inCells.has(fn.id));
  }, [state.functions, state.cells]);
  return functions.length === 0 ? (
    <p class="nbfn-Empty">
      {state.functions.size === 0
        ? trans.__('No function has been traced yet.')
        : trans.__('No other function has been traced yet.')}
    </p>
  ) : (
    <List
      items={functions}
      filter={trans.__('Filter functions')}
      textOf={fn => fn.name}
      orders={[
        trans.__('calls'),
        trans.__('traces'),
        trans.__('retraces'),
        trans.__('time lost to tracing'),
        trans.__('time spent running'),
        trans.__('size of the graphs')
      ]}
      left={(state.totals.functions ?? 0) - functions.length}
      row={(fn, note) => (
        <Row
          key={fn.id}
          title={fn.title ?? fn.name}
          call={fn.last ?? 'idle'}
          note={note}
        >
          {() => <OutlineDetails state={state} target={fn.id} />}
        </Row>
      )}
    />
  );
}

/** The cells that run in segments. */
export function CellList({ state }: ListProps): VNode {
  const cells = useMemo(() => [...state.cells.values()], [state.cells]);
  return (
    <List
      items={cells}
      filter={trans.__('Filter cells')}
      textOf={cell => `${cell.name} ${cell.source}`}
      orders={[
        trans.__('runs'),
        trans.__('traces'),
        trans.__('time of a run'),
        trans.__('time lost to tracing'),
        trans.__('size of the graphs')
      ]}
      left={(state.totals.cells ?? 0) - cells.length}
      row={(cell, note) => (
        <Row
          key={cell.id}
          title={cell.name}
          place={cell.place ?? ''}
          call={cell.call ?? 'idle'}
          note={note}
        >
          {() => <OutlineDetails state={state} target={cell.id} />}
        </Row>
      )}
    />
  );
}

/** The models that have a name in the notebook, each with the tree of its parts. */
export function ModelList({ state }: ListProps): VNode {
  const models = useMemo(() => [...state.models.values()], [state.models]);
  return (
    <List
      items={models}
      filter={trans.__('Filter models')}
      textOf={model => `${model.id} ${model.label}`}
      row={(model, note) => (
        <Row key={model.id} title={model.id} note={note}>
          {() => (
            <>
              <OutlineDetails state={state} target={`model/${model.id}`} />
              {!!model.parameters && (
                <RunCellLink
                  code={`nbfn.session().tabulate(${JSON.stringify(model.id)})`}
                  title={trans.__(
                    'Run a cell that shows how far each part has changed since the last look'
                  )}
                >
                  {trans.__('what training has changed')}
                </RunCellLink>
              )}
            </>
          )}
        </Row>
      )}
    />
  );
}
