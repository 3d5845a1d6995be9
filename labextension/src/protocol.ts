/**
 * The messages between the kernel and the front end.
 *
 * Generated from protocol.schema.json by `npm run protocol`: do not edit.
 */

/**
 * Every message, for the JSON schema.
 */
export interface Messages {
  saved: SavedView;
  to_client: SnapshotMessage1 | Patch | Pages | Mark | Refused;
  to_widget: Pictures;
  announcement: Presence;
  to_kernel: Attach | RequestSnapshot | RequestOutlines | RequestPictures | Watch;
}
/**
 * What a notebook stores of a view, in the entry `MIME_TYPE` of an output.
 */
export interface SavedView {
  view: 'function' | 'cell' | 'session' | 'page' | 'graph';
  /**
   * Id of the function or cell.
   */
  target?: string | null;
  /**
   * The outline of a page.
   */
  page?: Page | null;
  /**
   * The data of a graph's picture; a page may have one.
   */
  graph?: GraphRecord | null;
  snapshot: SnapshotMessage;
}
/**
 * An outline of a function, a cell, a model or a result.
 */
export interface Page {
  title: string;
  /**
   * For a function or a cell.
   */
  call?: ('hit' | 'trace' | 'retrace' | 'idle') | null;
  /**
   * A sentence next to the title.
   */
  status?: string | Phrase | null;
  /**
   * Sentences; backticks enclose code.
   */
  lines: (string | Phrase)[];
  /**
   * Times and sizes, which stored texts omit.
   */
  facts?: (string | Phrase)[];
  /**
   * Title of the collapsible section with facts, tables and groups.
   */
  summary?: string | null;
  tables: PageTable[];
  /**
   * Its parts, which are collapsible.
   */
  groups: Page[];
  /**
   * Whether it is open by default, within another.
   */
  open: boolean;
  diagram?: Diagram | null;
  /**
   * Result of a check.
   */
  verdict?: ('passed' | 'failed' | 'refused' | 'unverified') | null;
}
/**
 * A text with a link, code or judgement: code for a cell, a place, a page, a verdict.
 */
export interface Phrase {
  /**
   * The text; backticks enclose code.
   */
  text: string;
  /**
   * Python that runs when pasted into a cell.
   */
  code?: string | null;
  /**
   * The place, or where to use the code.
   */
  cell?: CodePlace | null;
  /**
   * Address of a documentation page.
   */
  page?: string | null;
  /**
   * Result of a check.
   */
  verdict?: ('passed' | 'failed' | 'refused' | 'unverified') | null;
  /**
   * What it means, shown on hover.
   */
  hint?: string | null;
}
/**
 * A place in the source.
 */
export interface CodePlace {
  /**
   * Id of the notebook cell, where known.
   */
  id?: string | null;
  /**
   * The n of In [n].
   */
  execution_count?: number | null;
  /**
   * Line in the cell or file, from 1.
   */
  line?: number | null;
  /**
   * File, for code outside a notebook.
   */
  file?: string | null;
  /**
   * Path relative to the kernel's folder, if inside.
   */
  path?: string | null;
}
/**
 * A collapsible table of a page.
 */
export interface PageTable {
  title: string;
  header: string[];
  /**
   * The first rows, or the newest.
   */
  rows: (string | Phrase)[][];
  /**
   * Number of rows, including those left out.
   */
  total: number;
  /**
   * Whether it is open by default.
   */
  open: boolean;
  /**
   * Sides: the last two columns are compared. Code: lines of a cell. Tree: rows may be parts of a row above.
   */
  kind?: 'plain' | 'sides' | 'code' | 'tree';
  /**
   * Depth of each row of a tree.
   */
  depths?: number[];
  /**
   * Rows of a tree that are closed by default, from 0.
   */
  closed?: number[];
  /**
   * Whether the rows are the newest, newest first.
   */
  newest?: boolean;
  /**
   * Columns of details, from 0, which a narrow view shows on demand.
   */
  details?: number[];
}
/**
 * Nodes and edges. Tables next to it have the same content as text.
 */
export interface Diagram {
  nodes: DiagramNode[];
  edges: DiagramEdge[];
}
/**
 * A box of a diagram.
 */
export interface DiagramNode {
  id: string;
  /**
   * Such as cell, function or device.
   */
  kind: string;
  label: string;
  /**
   * Additional lines of text.
   */
  lines?: string[];
  /**
   * Whether it needs attention.
   */
  marked?: boolean;
  /**
   * The place that it links to.
   */
  cell?: CodePlace | null;
}
/**
 * An arrow of a diagram.
 */
export interface DiagramEdge {
  /**
   * Id of its source node.
   */
  source: string;
  /**
   * Id of its target node.
   */
  target: string;
  label?: string;
  /**
   * Whether it needs attention.
   */
  marked?: boolean;
}
/**
 * The graph of a trace, or two graphs merged.
 */
export interface GraphRecord {
  title: string;
  /**
   * Python expression of the trace, if a name leads to it.
   */
  trace?: string | null;
  /**
   * Python that saves it, to which a file name is appended.
   */
  save?: string | null;
  /**
   * Distinct types, devices, and dtypes with shape.
   */
  texts: string[];
  /**
   * Distinct source lines.
   */
  places: CodePlace[];
  /**
   * The graph itself, then functions that it calls.
   */
  parts: GraphPart[];
  /**
   * The operations of the arguments.
   */
  inputs: number[];
  /**
   * The operations of the results.
   */
  outputs: number[];
  /**
   * The notebook's name of the capture, by operation.
   */
  captures: {
    [k: string]: string;
  };
  /**
   * Number of operations, including those left out.
   */
  total: number;
  /**
   * The names of two merged graphs.
   */
  sides?: string[] | null;
  /**
   * Operations that only the first has.
   */
  removed: number[];
  /**
   * Operations that only the second has.
   */
  added: number[];
  /**
   * What differs in operations of both.
   */
  changed: {
    [k: string]: string[];
  };
  /**
   * The first graph's version of changed operations.
   */
  before?: {
    [k: string]: GraphBefore;
  } | null;
  /**
   * The total times of a measured call.
   */
  times?: GraphTimesRecord | null;
  /**
   * What the newest look at values saw, by index of the source line in `places`.
   */
  values?: {
    [k: string]: string[];
  } | null;
}
/**
 * The operations of a graph or of a function that it calls; lists have one item each.
 */
export interface GraphPart {
  /**
   * Name of the function; empty for the graph itself.
   */
  name: string;
  names: string[];
  /**
   * Index of each type in `texts`.
   */
  types: number[];
  /**
   * Alternating: index of an operation, index of its result.
   */
  inputs: number[][];
  /**
   * Index of dtype and shape of each result in `texts`.
   */
  outputs: number[][];
  /**
   * Index of each device in `texts`.
   */
  devices: number[];
  /**
   * Index of the source line in `places`.
   */
  places: (number | null)[];
  /**
   * Indices of the parts that an operation calls, such as a loop's body.
   */
  calls: {
    [k: string]: number[];
  };
  /**
   * The value of a constant, if it is short.
   */
  values: {
    [k: string]: string;
  };
  /**
   * Operations that it depends on without using a result.
   */
  controls?: {
    [k: string]: number[];
  } | null;
  /**
   * Times of the operations that ran in the measured call.
   */
  times?: {
    [k: string]: OperationTimeRecord;
  } | null;
}
/**
 * The time of an operation in a call, in seconds.
 */
export interface OperationTimeRecord {
  /**
   * In the operation itself, over all executions.
   */
  seconds: number;
  /**
   * In the functions that it calls.
   */
  within?: number | null;
  /**
   * Number of executions.
   */
  executions: number;
  /**
   * The operation that ran instead, if optimised.
   */
  ran_as?: string | null;
}
/**
 * The first graph's version of an operation that both graphs have but that differs.
 */
export interface GraphBefore {
  /**
   * As in `GraphPart`; likewise the other fields.
   */
  type: number;
  inputs: number[];
  outputs: number[];
  device: number;
  place?: number | null;
  calls?: number[] | null;
  controls?: number[] | null;
  value?: string | null;
}
/**
 * The times of a call of a graph, in seconds.
 */
export interface GraphTimesRecord {
  /**
   * Sum over all operations.
   */
  seconds: number;
  /**
   * Sum over operations that are not found in the graph.
   */
  others: number;
}
/**
 * The newest rows when the notebook was saved; without rows for a page.
 */
export interface SnapshotMessage {
  type: 'snapshot';
  protocol: number;
  /**
   * Random, one per kernel start.
   */
  epoch: string;
  seq: number;
  /**
   * Version of nbfn in the kernel.
   */
  nbfn: string;
  /**
   * Version of TensorFlow, if imported.
   */
  tensorflow?: string | null;
  totals?: Totals | null;
  state: Rows;
  /**
   * The outlines that the client shows, by target.
   */
  pages?: {
    [k: string]: Page | null;
  };
}
/**
 * The totals, including rows that the tables leave out.
 *
 * Every view shows these numbers; views do not count rows.
 */
export interface Totals {
  /**
   * Traced and watched functions that exist, besides those of cells in segments.
   */
  functions?: number;
  /**
   * Cells in segments that have run.
   */
  cells?: number;
  /**
   * Calls of the functions, those of cells included.
   */
  calls?: number;
  /**
   * Calls served by an existing trace.
   */
  hits?: number;
  /**
   * Traces in the caches of these functions now.
   */
  traces?: number;
  /**
   * Misses after the first trace whose traces can still serve.
   */
  retraces?: number;
  /**
   * What making graphs has taken in the runs of all cells; without cells, in the calls of the functions.
   */
  trace_seconds?: number;
  /**
   * Size of all GraphDefs.
   */
  trace_nbytes?: number;
  /**
   * Variables that the notebook's names lead to, or that a trace has captured which can still serve.
   */
  variables?: number;
  /**
   * Size of these variables.
   */
  variable_nbytes?: number;
  /**
   * Modules, Keras models and layers that the notebook names.
   */
  models?: number;
  /**
   * Logical devices, known once a function has been traced.
   */
  devices?: number;
  /**
   * Runs of cells since nbfn was loaded, with the running one.
   */
  runs?: number;
  /**
   * What these runs have taken so far.
   */
  run_seconds?: number;
}
/**
 * Tables of records by id.
 */
export interface Rows {
  cells?: {
    [k: string]: TracedCellRecord;
  };
  functions?: {
    [k: string]: FunctionRecord;
  };
  traces?: {
    [k: string]: TraceRecord;
  };
  retraces?: {
    [k: string]: RetraceRecord;
  };
  devices?: {
    [k: string]: DeviceRecord;
  };
  models?: {
    [k: string]: ModelRecord;
  };
  runs?: {
    [k: string]: RunRecord;
  };
  work?: {
    [k: string]: WorkRecord;
  };
}
/**
 * A cell that runs in segments: some statements in graphs, the others as Python.
 */
export interface TracedCellRecord {
  id: string;
  name: string;
  /**
   * The notebook cell of the last run.
   */
  cell?: CodePlace | null;
  /**
   * Its Python code; the line of the magic is empty.
   */
  source: string;
  /**
   * For each line with code: why it runs as Python; null if in a graph.
   */
  lines: {
    [k: string]: string | null;
  };
  /**
   * Describes which statements run in graphs.
   */
  sentence: string;
  /**
   * Why statements are Python, such as line 4 prints.
   */
  python: string[];
  /**
   * What runs in graphs, in text order.
   */
  segments: SegmentRecord[];
  /**
   * Whether a graph's random numbers differ from those of Python.
   */
  draws?: boolean;
  /**
   * Ids of the functions of all segments, also of those that now run as Python.
   */
  functions: string[];
  /**
   * Statements that run in graphs.
   */
  graph_statements: number;
  statements: number;
  /**
   * Duration of the last run.
   */
  seconds: number;
  /**
   * Its estimated duration as Python.
   */
  eager_seconds: number;
  runs: number;
  /**
   * The most notable call in the last run.
   */
  call?: 'hit' | 'trace' | 'retrace' | 'idle';
  /**
   * Speed of the last run relative to Python; null if not comparable, as for a run that traced.
   */
  speedup?: number | null;
  /**
   * The notebook cell as text, such as In [3].
   */
  place?: string;
  /**
   * Text shown next to the name in a list.
   */
  note?: string;
  /**
   * What a list is sorted by, as text: runs, traces, time of a run, time to trace, size of the graphs.
   */
  measures?: string[];
}
/**
 * Statements of a traced cell that run as one graph.
 */
export interface SegmentRecord {
  /**
   * Id of its function.
   */
  function: string;
  /**
   * Its first line in the cell, from 1.
   */
  first: number;
  /**
   * Its last line.
   */
  last: number;
  /**
   * Duration of a run as a graph.
   */
  seconds?: number | null;
  /**
   * Duration of a run as Python.
   */
  eager_seconds?: number | null;
}
/**
 * A traced function.
 */
export interface FunctionRecord {
  id: string;
  name: string;
  /**
   * Its name with its parameters, then the cell if another function has the name.
   */
  title?: string;
  /**
   * Where it was defined.
   */
  cell?: CodePlace | null;
  /**
   * None for a function that is not watched: only those that trace are known.
   */
  calls: number | null;
  hits: number | null;
  /**
   * Traces in the cache now.
   */
  traces: number;
  /**
   * Misses after the first trace.
   */
  retraces: number;
  trace_seconds: number;
  run_seconds: number;
  /**
   * Size of the GraphDefs of its traces.
   */
  nbytes: number;
  /**
   * The result of the last call.
   */
  last?: ('hit' | 'trace' | 'retrace') | null;
  /**
   * Id of the trace that served last.
   */
  last_trace?: string | null;
  /**
   * Id of the newest retrace.
   */
  last_retrace?: string | null;
  /**
   * Text shown next to the name in a list.
   */
  note?: string;
  /**
   * What a list is sorted by, as text: calls, traces, retraces, time to trace, time running, size of the graphs.
   */
  measures?: string[];
  /**
   * The slowest lines of the newest call whose lines were timed.
   */
  lines?: LineTimeRecord[];
}
/**
 * The time of a line of code in a measured call.
 */
export interface LineTimeRecord {
  cell: CodePlace1;
  /**
   * Its part of the time of all operations, from 0 to 1.
   */
  share: number;
  /**
   * Its share and its time.
   */
  text: string;
}
/**
 * A place in the source.
 */
export interface CodePlace1 {
  /**
   * Id of the notebook cell, where known.
   */
  id?: string | null;
  /**
   * The n of In [n].
   */
  execution_count?: number | null;
  /**
   * Line in the cell or file, from 1.
   */
  line?: number | null;
  /**
   * File, for code outside a notebook.
   */
  file?: string | null;
  /**
   * Path relative to the kernel's folder, if inside.
   */
  path?: string | null;
}
/**
 * One trace: a graph in the trace cache of a function.
 */
export interface TraceRecord {
  id: string;
  function: string;
  /**
   * Its number among the function's traces, from 1.
   */
  number: number;
  signature: Leaf[];
  cause: CauseRecord;
  /**
   * The call that made it.
   */
  cell?: CodePlace | null;
  /**
   * When it was made, in seconds since 1970.
   */
  time: number;
  hits: number;
  trace_seconds: number;
  run_seconds: number;
  operations: number;
  /**
   * Size of its GraphDef.
   */
  nbytes: number;
  /**
   * Ids of the captured variables.
   */
  captures: string[];
}
/**
 * One leaf of a call's arguments, as in the trace's key.
 */
export interface Leaf {
  /**
   * Path of the argument, such as batch['images'][0].
   */
  path: string;
  /**
   * The key of the leaf, such as float32[64, 10] or int 3.
   */
  type: string;
}
/**
 * One reason why a call found no trace.
 */
export interface CauseRecord {
  code:
    | 'first_trace'
    | 'variable_creation'
    | 'new_code'
    | 'new_function'
    | 'new_instance'
    | 'evicted'
    | 'after_failure'
    | 'shape'
    | 'rank'
    | 'dtype'
    | 'structure'
    | 'python_value'
    | 'python_type'
    | 'object_identity'
    | 'stale'
    | 'device'
    | 'strategy'
    | 'summaries'
    | 'context'
    | 'alias'
    | 'widened'
    | 'xla_compile'
    | 'relaxed'
    | 'requested'
    | 'export'
    | 'unknown';
  /**
   * Path of the argument that differs.
   */
  path?: string | null;
  /**
   * The leaf of the nearest trace.
   */
  old?: string | null;
  /**
   * The leaf of the call.
   */
  new?: string | null;
  sentence: string;
}
/**
 * A miss: a call that made a new trace although the function had one.
 */
export interface RetraceRecord {
  id: string;
  function: string;
  /**
   * Id of the trace it made; empty once that has been evicted.
   */
  trace: string;
  /**
   * Its number among the function's retraces, from 1.
   */
  number: number;
  causes: CauseRecord[];
  /**
   * Ids of the nearest traces, with which it was compared.
   */
  nearest: string[];
  /**
   * The call that missed.
   */
  cell?: CodePlace | null;
  /**
   * When it happened, in seconds since 1970.
   */
  time: number;
  trace_seconds: number;
  remedy?: RemedyRecord | null;
  /**
   * Whether its trace has been replaced since.
   */
  settled?: boolean;
}
/**
 * What to change to avoid the retrace.
 */
export interface RemedyRecord {
  sentence: string;
  /**
   * Python that runs when pasted into a cell.
   */
  code?: string | null;
}
/**
 * A logical device that TensorFlow can place operations on.
 */
export interface DeviceRecord {
  /**
   * TensorFlow's full name for it.
   */
  id: string;
  /**
   * CPU, GPU or TPU.
   */
  kind: string;
  /**
   * Its short name, such as GPU:0.
   */
  name?: string;
}
/**
 * A module, Keras model or layer; its tree is an outline.
 */
export interface ModelRecord {
  /**
   * The notebook's name for it.
   */
  id: string;
  /**
   * Its class.
   */
  label: string;
  /**
   * Text shown next to the name in a list.
   */
  note: string;
  /**
   * Number of elements of its variables.
   */
  parameters: number | null;
}
/**
 * A run of a notebook cell, or several successive runs merged.
 */
export interface RunRecord {
  id: string;
  cell: CodePlace2;
  /**
   * The n of In [n] of the first run.
   */
  first?: number | null;
  /**
   * The n of In [n] of the last run.
   */
  last?: number | null;
  /**
   * Number of merged runs.
   */
  runs?: number;
  /**
   * Start time, in seconds since 1970.
   */
  time: number;
  /**
   * End time; for a running cell, the time of the last update.
   */
  end: number;
  /**
   * Duration, without pauses between runs.
   */
  seconds: number;
  /**
   * Seconds spent on tracing.
   */
  tracing: number;
  /**
   * Seconds spent in graphs; the rest is Python.
   */
  graph: number;
  /**
   * Seconds in graphs that were sampled, not measured.
   */
  sampled?: number;
  /**
   * Seconds of calls on other threads; not part of `seconds`.
   */
  elsewhere?: number;
  calls?: number;
  traces?: number;
  /**
   * Calls with recorded copies between devices.
   */
  watched?: number;
  /**
   * Copies between devices in watched calls.
   */
  copies?: number;
  copied_nbytes?: number;
  /**
   * Duration of the longest run.
   */
  longest: number;
  /**
   * Number of runs that raised an error.
   */
  failed?: number;
  interrupted?: number;
  /**
   * Whether it is still running.
   */
  running?: boolean;
  /**
   * For a cell in segments: what ran in graphs, as text.
   */
  segments?: string | null;
  /**
   * Memory of the process at the end, in bytes; maximum of all runs.
   */
  memory?: number | null;
  /**
   * Current and peak bytes of TensorFlow on each device at the end.
   */
  devices?: {
    [k: string]: number[];
  } | null;
}
/**
 * A place in the source.
 */
export interface CodePlace2 {
  /**
   * Id of the notebook cell, where known.
   */
  id?: string | null;
  /**
   * The n of In [n].
   */
  execution_count?: number | null;
  /**
   * Line in the cell or file, from 1.
   */
  line?: number | null;
  /**
   * File, for code outside a notebook.
   */
  file?: string | null;
  /**
   * Path relative to the kernel's folder, if inside.
   */
  path?: string | null;
}
/**
 * Running work that has lasted over a second.
 */
export interface WorkRecord {
  id: string;
  kind: 'trace' | 'run' | 'loop' | 'export';
  /**
   * Name of the function or model, such as train_step.
   */
  name: string;
  /**
   * Id of the function, if it is listed.
   */
  function?: string | null;
  /**
   * What runs, for how long, and its progress.
   */
  sentence: string;
  /**
   * Whole seconds since it began.
   */
  seconds: number;
  /**
   * Amount done, if known.
   */
  done?: number | null;
  /**
   * Total amount, if known.
   */
  total?: number | null;
}
/**
 * The whole state, which replaces everything that a client knew.
 */
export interface SnapshotMessage1 {
  type: 'snapshot';
  protocol: number;
  /**
   * Random, one per kernel start.
   */
  epoch: string;
  seq: number;
  /**
   * Version of nbfn in the kernel.
   */
  nbfn: string;
  /**
   * Version of TensorFlow, if imported.
   */
  tensorflow?: string | null;
  totals?: Totals | null;
  state: Rows;
  /**
   * The outlines that the client shows, by target.
   */
  pages?: {
    [k: string]: Page | null;
  };
}
/**
 * The changes since the message with the previous sequence number.
 */
export interface Patch {
  type: 'patch';
  epoch: string;
  seq: number;
  /**
   * Version of TensorFlow, if imported.
   */
  tensorflow?: string | null;
  totals: Totals;
  put: Rows;
  removed: Removed;
  /**
   * The changed outlines that the client shows; null if the function or cell no longer exists.
   */
  pages?: {
    [k: string]: Page | null;
  };
}
/**
 * Ids of rows to remove from the tables.
 */
export interface Removed {
  cells?: string[];
  functions?: string[];
  traces?: string[];
  retraces?: string[];
  devices?: string[];
  models?: string[];
  runs?: string[];
  work?: string[];
}
/**
 * The outlines that a client has begun to show.
 */
export interface Pages {
  type: 'pages';
  epoch: string;
  pages: {
    [k: string]: Page | null;
  };
}
/**
 * The current sequence number; a client with a lower one has missed messages.
 */
export interface Mark {
  type: 'mark';
  epoch: string;
  /**
   * Number of the last patch.
   */
  seq: number;
}
/**
 * The reply to a client with another version of the protocol.
 */
export interface Refused {
  type: 'refused';
  protocol: number;
  nbfn: string;
  message: string;
}
/**
 * The bundle of the pictures, as the source of a JavaScript module.
 */
export interface Pictures {
  type: 'pictures';
  source: string;
}
/**
 * Sent by the kernel on its presence comm when nbfn is loaded.
 */
export interface Presence {
  type: 'presence';
}
/**
 * Sent by a client when it opens the comm.
 */
export interface Attach {
  type: 'attach';
  protocol: number;
  /**
   * Version of the front end.
   */
  nbfn: string;
  /**
   * Random, one per page; its newest comm replaces older ones.
   */
  page?: string | null;
}
/**
 * A client that has missed messages requests the whole state.
 */
export interface RequestSnapshot {
  type: 'request_snapshot';
}
/**
 * A client requests the outlines that it shows, now and whenever they change.
 */
export interface RequestOutlines {
  type: 'request_outlines';
  /**
   * Ids of functions or cells, or names of parts of the session.
   */
  targets: string[];
}
/**
 * A widget requests the bundle of the pictures when it first needs one.
 */
export interface RequestPictures {
  type: 'request_pictures';
}
/**
 * A hidden client pauses patches (false), or resumes with a snapshot (true).
 */
export interface Watch {
  type: 'watch';
  active: boolean;
}

/** Version of the protocol that these types describe. */
export const PROTOCOL = 2;

/** What each of the totals means. */
export const MEANINGS: Readonly<Record<keyof Totals, string>> = {
  functions:
    'Traced and watched functions that exist, besides those of cells in segments.',
  cells: 'Cells in segments that have run.',
  calls: 'Calls of the functions, those of cells included.',
  hits: 'Calls served by an existing trace.',
  traces: 'Traces in the caches of these functions now.',
  retraces: 'Misses after the first trace whose traces can still serve.',
  trace_seconds:
    'What making graphs has taken in the runs of all cells; without cells, in the calls of the functions.',
  trace_nbytes: 'Size of all GraphDefs.',
  variables:
    "Variables that the notebook's names lead to, or that a trace has captured which can still serve.",
  variable_nbytes: 'Size of these variables.',
  models: 'Modules, Keras models and layers that the notebook names.',
  devices: 'Logical devices, known once a function has been traced.',
  runs: 'Runs of cells since nbfn was loaded, with the running one.',
  run_seconds: 'What these runs have taken so far.'
};
