import type {
  CauseRecord,
  FunctionRecord,
  Page,
  RetraceRecord,
  SnapshotMessage,
  Rows,
  TraceRecord,
  TracedCellRecord,
  WorkRecord
} from '../src/protocol';
import { PROTOCOL } from '../src/protocol';

/** A function that was called twice, and hit once. */
export function fn(values: Partial<FunctionRecord> = {}): FunctionRecord {
  return {
    id: 'f1',
    name: 'train_step',
    title: `${values.name ?? 'train_step'}(images, labels)`,
    cell: { id: 'cell-1', execution_count: 2, line: 1 },
    calls: 2,
    hits: 1,
    traces: 1,
    retraces: 0,
    trace_seconds: 0.312,
    run_seconds: 0.004,
    nbytes: 20480,
    last: 'hit',
    last_trace: 't1',
    last_retrace: null,
    note: '1 trace',
    measures: ['2 calls', '1 trace', '0 retraces', '312 ms', '4 ms', '20.5 kB'],
    ...values
  };
}

/** The first trace of that function. */
export function trace(values: Partial<TraceRecord> = {}): TraceRecord {
  return {
    id: 't1',
    function: 'f1',
    number: 1,
    signature: [{ path: 'images', type: 'float32[32, 784]' }],
    cause: cause({ code: 'first_trace', sentence: 'It was the first call.' }),
    cell: { id: 'cell-2', execution_count: 3, line: 1 },
    time: 1,
    hits: 1,
    trace_seconds: 0.312,
    run_seconds: 0.004,
    operations: 148,
    nbytes: 20480,
    captures: ['v1'],
    ...values
  };
}

/** A cause: another shape. */
function cause(values: Partial<CauseRecord> = {}): CauseRecord {
  return { code: 'shape', sentence: 'The shape of images differs.', ...values };
}

/** A retrace for another batch size, with a remedy. */
export function retrace(values: Partial<RetraceRecord> = {}): RetraceRecord {
  return {
    id: 'r1',
    function: 'f1',
    trace: 't2',
    number: 1,
    causes: [
      cause({ path: 'images', old: 'float32[32, 784]', new: 'float32[64, 784]' })
    ],
    nearest: ['t1'],
    cell: { id: 'cell-3', execution_count: 5, line: 3 },
    time: 2,
    trace_seconds: 0.21,
    remedy: { sentence: 'Leave the batch size open', code: 'train_step.relax()' },
    ...values
  };
}

/** A cell that ran three times: a loop of one graph, and a print. */
export function tracedCell(values: Partial<TracedCellRecord> = {}): TracedCellRecord {
  return {
    id: 'cell-1',
    name: 'train',
    cell: { id: 'notebook-cell', execution_count: 6 },
    source: '\n# begins\nfor x in data:\n    y = f(x)\n    print(y)\n',
    lines: { 3: 'a loop', 4: null, 5: 'prints' },
    sentence: '1 of 3 statements in 1 graph (line 4)',
    python: ['line 5 prints'],
    segments: [
      { function: 'f1', first: 4, last: 4, seconds: 0.001, eager_seconds: 0.004 }
    ],
    functions: ['f1'],
    graph_statements: 1,
    statements: 3,
    seconds: 0.0041,
    eager_seconds: 0.0162,
    runs: 3,
    place: 'In [6]',
    note: '4.1 ms \u00b7 4\u00d7',
    ...values
  };
}

/** A trace that is being made, a third of which is done. */
export function work(values: Partial<WorkRecord> = {}): WorkRecord {
  return {
    id: 'trace-1',
    kind: 'trace',
    name: 'train_step',
    function: 'f1',
    sentence: 'tracing train_step: 3 s, 50 of about 150 operations, at In [2], line 4',
    seconds: 3,
    done: 50,
    total: 150,
    ...values
  };
}

/** A table of records by id. */
export function table<T extends { id: string }>(...rows: T[]): Record<string, T> {
  return Object.fromEntries(rows.map(row => [row.id, row]));
}

/** A snapshot. */
export function snapshot(
  state: Rows = {},
  values: Partial<SnapshotMessage> = {}
): SnapshotMessage {
  const rows = <T>(table: Record<string, T> | undefined): T[] =>
    Object.values(table ?? {});
  const inside = new Set(rows(state.cells).flatMap(cell => cell.functions));
  return {
    // As a kernel counts that leaves nothing out.
    totals: {
      functions: rows(state.functions).filter(each => !inside.has(each.id)).length,
      cells: rows(state.cells).length,
      retraces: rows(state.retraces).length
    },
    type: 'snapshot',
    protocol: PROTOCOL,
    epoch: 'epoch-1',
    seq: 1,
    nbfn: '0.1.0',
    tensorflow: '2.21.0',
    state,
    ...values
  };
}

/** The state of a function that has just retraced. */
export function retraced(): Rows {
  return {
    functions: table(
      fn({
        last: 'retrace',
        last_trace: 't2',
        last_retrace: 'r1',
        traces: 2,
        retraces: 1
      })
    ),
    traces: table(
      trace(),
      trace({
        id: 't2',
        number: 2,
        signature: [{ path: 'images', type: 'float32[64, 784]' }]
      })
    ),
    retraces: table(retrace())
  };
}

const [TITLE, TRACES, CAPTURES] = ['train_step(images, labels)', 'traces', 'captures'];

/** The outline of that function: its traces, the retrace, and what it captured. */
export function outline(values: Partial<Page> = {}): Page {
  const remedy = {
    text: 'Leave the batch size open',
    code: 'train_step.relax()',
    cell: { id: 'cell-3' }
  };
  const place = {
    text: 'In [5], line 3',
    cell: { id: 'cell-3', execution_count: 5, line: 3 }
  };
  return {
    title: TITLE,
    call: 'retrace',
    status: {
      text: 'retraced: `images`: shape was [32], is [64]',
      page: 'https://docs.example/causes.html#shape'
    },
    lines: [remedy],
    facts: ['312 ms to trace', place],
    summary: '2 calls, 0 hits, 2 traces, 1 retrace',
    tables: [
      {
        title: TRACES,
        header: ['#', 'signature', 'hits', 'to trace'],
        rows: [
          ['2', 'images: float32[64]', '0', '9 ms'],
          ['1', 'images: float32[32]', '3', '1.2 s']
        ],
        total: 2,
        open: true,
        newest: true
      },
      {
        title: CAPTURES,
        header: ['name', 'size'],
        rows: [['model/hidden/kernel', '401 kB']],
        total: 1,
        open: false
      }
    ],
    groups: [],
    open: false,
    ...values
  };
}
