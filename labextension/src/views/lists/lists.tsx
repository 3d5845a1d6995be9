import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { functionsOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord, ModelRecord, TracedCellRecord } from '../../protocol';
import { trans } from '../../words';
import { OutlineDetails } from '../outlines/outlineView';
import { cellText } from '../parts/cellReference';
import { counts, duration, ratio, size } from '../parts/format';
import type { Order } from './list';
import { List, Row } from './list';
import { Question } from './question';

/** Properties of a list of a session. */
interface ListProps {
  state: KernelState;
}

/** The functions that are no part of a cell in segments. */
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
      orders={ofFunctions()}
      left={(state.totals.functions ?? 0) - functions.length}
      row={(fn, note) => (
        <Row
          key={fn.id}
          name={fn.name}
          parameters={fn.parameters}
          call={fn.last ?? 'idle'}
          note={note ?? counts.traces(fn.traces)}
        >
          {() => <OutlineDetails state={state} target={fn.id} />}
        </Row>
      )}
    />
  );
}

const ofFunctions = (): readonly Order<FunctionRecord>[] => [
  { name: trans.__('calls'), value: fn => fn.calls, text: counts.calls },
  { name: trans.__('traces'), value: fn => fn.traces, text: counts.traces },
  { name: trans.__('retraces'), value: fn => fn.retraces, text: counts.retraces },
  {
    name: trans.__('time lost to tracing'),
    value: fn => fn.trace_seconds,
    text: duration
  },
  {
    name: trans.__('time spent running'),
    value: fn => fn.run_seconds,
    text: duration
  },
  { name: trans.__('size of the graphs'), value: fn => fn.nbytes, text: size }
];

/** The cells that run in segments. */
export function CellList({ state }: ListProps): VNode {
  const cells = useMemo(() => [...state.cells.values()], [state.cells]);
  return (
    <List
      items={cells}
      filter={trans.__('Filter cells')}
      textOf={cell => `${cell.name} ${cell.source}`}
      orders={ofCells(state)}
      left={(state.totals.cells ?? 0) - cells.length}
      row={(cell, note) => (
        <Row
          key={cell.id}
          name={cell.name}
          place={cell.cell ? cellText(cell.cell) : ''}
          call={cell.call ?? 'idle'}
          note={[
            note ?? duration(cell.seconds),
            ...(cell.speedup == null ? [] : [ratio(cell.speedup)])
          ].join(' \u00b7 ')}
        >
          {() => <OutlineDetails state={state} target={cell.id} />}
        </Row>
      )}
    />
  );
}

/** What the functions of a cell cost is the cell's. */
function ofCells(state: KernelState): readonly Order<TracedCellRecord>[] {
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

/** The models that the notebook names, each with the tree of its parts. */
export function ModelList({ state }: ListProps): VNode {
  const models = useMemo(() => [...state.models.values()], [state.models]);
  return (
    <List
      items={models}
      filter={trans.__('Filter models')}
      textOf={model => `${model.id} ${model.label}`}
      row={model => (
        <Row key={model.id} name={model.id} note={`${model.label}, ${sizeOf(model)}`}>
          {() => (
            <>
              <OutlineDetails state={state} target={`model/${model.id}`} />
              {!!model.parameters && (
                <Question
                  code={`nbfn.session().tabulate(${JSON.stringify(model.id)})`}
                  title={trans.__(
                    'Run a cell that shows how far each part has changed since the last look'
                  )}
                >
                  {trans.__('what training has changed')}
                </Question>
              )}
            </>
          )}
        </Row>
      )}
    />
  );
}

function sizeOf({ parameters }: ModelRecord): string {
  return parameters ? counts.parameters(parameters) : trans.__('no variables yet');
}
