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
  to_client: Snapshot1 | Patch | Pages | Mark | Refused;
  to_widget: Pictures;
  announcement: Presence;
  to_kernel: Attach | RequestSnapshot | Look | RequestPictures | Watch;
}
/**
 * What a notebook keeps of a view, in the entry `MIME_TYPE` of an output.
 */
export interface SavedView {
  view: 'function' | 'cell' | 'session' | 'page' | 'graph';
  /**
   * Id of the function or cell.
   */
  target?: string | null;
  /**
   * What a page says.
   */
  page?: Page | null;
  /**
   * What the picture of a graph is drawn from; a page may have one.
   */
  graph?: GraphRecord | null;
  snapshot: Snapshot;
}
/**
 * An outline: what there is to say about a function, a cell, a model or a result.
 */
export interface Page {
  title: string;
  /**
   * Of a function or a cell.
   */
  call?: ('hit' | 'trace' | 'retrace' | 'idle') | null;
  /**
   * A sentence that stands beside the title.
   */
  status?: string | Phrase | null;
  /**
   * Sentences; backticks enclose code.
   */
  lines: (string | Phrase)[];
  /**
   * Times and sizes, which no stored text has.
   */
  facts?: (string | Phrase)[];
  /**
   * The title of the fold that holds facts, tables and groups.
   */
  summary?: string | null;
  tables: PageTable[];
  /**
   * Its parts, which fold.
   */
  groups: Page[];
  /**
   * Whether it is unfolded at first, within another.
   */
  open: boolean;
  diagram?: Diagram | null;
  /**
   * What came of a check.
   */
  verdict?: ('passed' | 'failed' | 'refused' | 'unproven') | null;
}
/**
 * Words that lead to something, or that judge: code for a cell, a place, a page, a verdict.
 */
export interface Phrase {
  /**
   * The words; backticks enclose code.
   */
  text: string;
  /**
   * Python that works when pasted in a cell.
   */
  code?: string | null;
  /**
   * The place, or where the code is needed.
   */
  cell?: Cell | null;
  /**
   * Address of a page of the documentation.
   */
  page?: string | null;
  /**
   * What came of a check.
   */
  verdict?: ('passed' | 'failed' | 'refused' | 'unproven') | null;
}
/**
 * A place in the user's code.
 */
export interface Cell {
  /**
   * Id of the notebook cell, where known.
   */
  id?: string | null;
  /**
   * The n of In [n].
   */
  execution_count?: number | null;
  /**
   * Line in the cell, or in the file; from 1.
   */
  line?: number | null;
  /**
   * File, for code outside a notebook.
   */
  file?: string | null;
  /**
   * Its path from the kernel's folder, if it is in there.
   */
  path?: string | null;
}
/**
 * A table of a page, which folds.
 */
export interface PageTable {
  title: string;
  header: string[];
  /**
   * The first rows, or the newest.
   */
  rows: (string | Phrase)[][];
  /**
   * How many rows there are.
   */
  total: number;
  /**
   * Whether it is unfolded at first.
   */
  open: boolean;
  /**
   * Sides: the last two columns are to be compared. Code: lines of a cell. Tree: rows may be parts of the row above.
   */
  kind?: 'plain' | 'sides' | 'code' | 'tree';
  /**
   * How deep each row of a tree is.
   */
  depths?: number[];
  /**
   * Rows of a tree that are closed at first, from 0.
   */
  closed?: number[];
  /**
   * Whether the rows are the newest, newest first.
   */
  newest?: boolean;
}
/**
 * Boxes and arrows. Tables beside it say the same in words.
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
   * Of what sort it is, such as cell, function or device.
   */
  kind: string;
  label: string;
  /**
   * What more there is to say.
   */
  lines?: string[];
  /**
   * Whether it needs attention.
   */
  marked?: boolean;
  /**
   * The place that it leads to.
   */
  cell?: Cell | null;
}
/**
 * An arrow of a diagram.
 */
export interface DiagramEdge {
  /**
   * Id of the box where it begins.
   */
  source: string;
  /**
   * Id of the box where it ends.
   */
  target: string;
  label?: string;
  /**
   * Whether it needs attention.
   */
  marked?: boolean;
}
/**
 * The graph of a trace, or those of two as one.
 */
export interface GraphRecord {
  title: string;
  /**
   * Python that gives the trace, where a name leads to it.
   */
  trace?: string | null;
  /**
   * What saves it: a line to which a file's name is added.
   */
  save?: string | null;
  /**
   * Each type, device, and dtype with shape, once.
   */
  texts: string[];
  /**
   * Each of the user's lines, once.
   */
  places: Cell[];
  /**
   * First the graph itself.
   */
  parts: GraphPart[];
  /**
   * The operations that stand for arguments.
   */
  inputs: number[];
  /**
   * The operations that give the results.
   */
  outputs: number[];
  /**
   * The notebook's name of what an operation stands for.
   */
  captures: {
    [k: string]: string;
  };
  /**
   * How many operations there are, also those that are left out.
   */
  total: number;
  /**
   * The names of two graphs, if it is of two.
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
   * Operations of both as the first has them, where that differs.
   */
  before?: {
    [k: string]: GraphBefore;
  } | null;
  /**
   * Of a call that was measured: its times as a whole.
   */
  times?: GraphTimes | null;
}
/**
 * The operations of a graph or of a function that it calls: the n-th of each list is one's.
 */
export interface GraphPart {
  /**
   * Name of the function; empty for the graph itself.
   */
  name: string;
  names: string[];
  /**
   * Where each type stands among the texts.
   */
  types: number[];
  /**
   * For each result that is taken its operation, then which of its results it is.
   */
  inputs: number[][];
  /**
   * Where dtype and shape of each result stand among the texts.
   */
  outputs: number[][];
  /**
   * Where each device stands among the texts.
   */
  devices: number[];
  /**
   * Where the user's line stands among the places.
   */
  places: (number | null)[];
  /**
   * Which parts an operation calls, such as the body of a loop.
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
   * Which operations one waits for without taking a result.
   */
  controls?: {
    [k: string]: number[];
  } | null;
  /**
   * How long those took that ran in the call that was measured.
   */
  times?: {
    [k: string]: OperationTime;
  } | null;
}
/**
 * How long an operation took in a call, in seconds.
 */
export interface OperationTime {
  /**
   * Itself, in all of its executions.
   */
  seconds: number;
  /**
   * What ran in the functions that it calls.
   */
  within?: number | null;
  /**
   * How often it was executed itself.
   */
  executions: number;
  /**
   * What ran in its place, if the optimiser changed it.
   */
  ran_as?: string | null;
}
/**
 * What the first of two graphs has of an operation that both have, if it is not the same.
 */
export interface GraphBefore {
  /**
   * As in a part, like everything that follows.
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
export interface GraphTimes {
  /**
   * What all operations took together.
   */
  seconds: number;
  /**
   * What those took whose place in the graph is not known.
   */
  others: number;
}
/**
 * The newest rows when the notebook was saved; of a page, its kernel only.
 */
export interface Snapshot {
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
  /**
   * Whether %tf_auto is on.
   */
  auto?: boolean;
  /**
   * Address of the documentation, if it is known.
   */
  documentation?: string | null;
  totals?: Totals | null;
  state: State;
  /**
   * The outlines that the client shows, by their targets.
   */
  pages?: {
    [k: string]: Page | null;
  };
}
/**
 * How much there is of everything, also of what the tables leave out.
 *
 * Every view shows these numbers, and counts nothing itself.
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
   * Calls that a trace served which was there.
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
}
/**
 * Tables of records by id.
 */
export interface State {
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
 * A cell that runs in segments: graph where it is graph, Python where it is Python.
 */
export interface TracedCellRecord {
  id: string;
  name: string;
  /**
   * The notebook cell that ran it last.
   */
  cell?: Cell | null;
  /**
   * Its Python, line for line; the magic's own line is empty.
   */
  source: string;
  /**
   * For each line with code why it is Python; null where it runs in a graph.
   */
  lines: {
    [k: string]: string | null;
  };
  /**
   * How many statements run in graphs, and on which lines.
   */
  sentence: string;
  /**
   * What is Python and why, such as line 4 prints.
   */
  python: string[];
  /**
   * What runs in graphs, in the order of the text.
   */
  segments: Segment[];
  /**
   * Whether a graph draws other random numbers than Python would.
   */
  draws?: boolean;
  /**
   * Ids of the functions of all its segments, also of those that are Python again.
   */
  functions: string[];
  /**
   * Statements that run in graphs.
   */
  graph_statements: number;
  statements: number;
  /**
   * What the last run took.
   */
  seconds: number;
  /**
   * What it would have taken as Python.
   */
  eager_seconds: number;
  runs: number;
  /**
   * The most notable that the last run's graphs were.
   */
  call?: 'hit' | 'trace' | 'retrace' | 'idle';
  /**
   * How many times faster than as Python the last run was; null where a run that traced cannot be compared.
   */
  speedup?: number | null;
}
/**
 * Statements of a traced cell that run as one graph.
 */
export interface Segment {
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
   * What a run as a graph takes.
   */
  seconds?: number | null;
  /**
   * What a run as Python takes.
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
   * Its parameters as text, such as (images, labels).
   */
  parameters: string;
  /**
   * Where it was defined.
   */
  cell?: Cell | null;
  calls: number;
  hits: number;
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
   * What the last call was.
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
  cause: Cause;
  /**
   * The call that made it.
   */
  cell?: Cell | null;
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
 * One leaf of a call's arguments, as the trace cache keys it.
 */
export interface Leaf {
  /**
   * The argument's path, such as batch['images'][0].
   */
  path: string;
  /**
   * What is keyed, such as float32[64, 10] or int 3.
   */
  type: string;
}
/**
 * One reason why a call found no trace.
 */
export interface Cause {
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
   * What the nearest trace was made for.
   */
  old?: string | null;
  /**
   * What the call brought.
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
  causes: Cause[];
  /**
   * Ids of all nearest traces, which it was compared with.
   */
  nearest: string[];
  /**
   * The call that missed.
   */
  cell?: Cell | null;
  /**
   * When it was, in seconds since 1970.
   */
  time: number;
  trace_seconds: number;
  remedy?: Remedy | null;
  /**
   * Whether its trace has been replaced since.
   */
  settled?: boolean;
}
/**
 * What to change so that the same calls do not retrace.
 */
export interface Remedy {
  sentence: string;
  /**
   * Python that works when pasted in a cell.
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
   * How much there is of it, in words.
   */
  sizes: string;
  /**
   * Elements of its variables.
   */
  parameters: number | null;
}
/**
 * A run of a notebook cell, or several in a row, so that hours stay a few rows.
 */
export interface RunRecord {
  id: string;
  cell: Cell1;
  /**
   * The n of its In [n], or of the first.
   */
  first?: number | null;
  /**
   * The n of the last one's.
   */
  last?: number | null;
  /**
   * How many runs it stands for.
   */
  runs?: number;
  /**
   * When it began, in seconds since 1970.
   */
  time: number;
  /**
   * When it, or the last one, ended; as told, if it goes on.
   */
  end: number;
  /**
   * What it took, without pauses between several.
   */
  seconds: number;
  /**
   * Seconds of those that went into making traces.
   */
  tracing: number;
  /**
   * Seconds that went into running graphs; Python is the rest.
   */
  graph: number;
  /**
   * Seconds of graph that were not measured, but seen now and then.
   */
  sampled?: number;
  /**
   * Seconds of calls on other threads meanwhile, beside the others.
   */
  elsewhere?: number;
  calls?: number;
  traces?: number;
  /**
   * Calls whose copies between devices are known.
   */
  watched?: number;
  /**
   * Copies between devices in those.
   */
  copies?: number;
  copied_nbytes?: number;
  /**
   * What the longest run took.
   */
  longest: number;
  /**
   * How many raised an error.
   */
  failed?: number;
  interrupted?: number;
  /**
   * Whether it goes on.
   */
  running?: boolean;
  /**
   * Of a cell in segments, what ran in graphs, in words.
   */
  segments?: string | null;
  /**
   * Bytes that the process held at its end, the most of several.
   */
  memory?: number | null;
  /**
   * What TensorFlow had on each device then, and the most until then, in bytes.
   */
  devices?: {
    [k: string]: number[];
  } | null;
}
/**
 * A place in the user's code.
 */
export interface Cell1 {
  /**
   * Id of the notebook cell, where known.
   */
  id?: string | null;
  /**
   * The n of In [n].
   */
  execution_count?: number | null;
  /**
   * Line in the cell, or in the file; from 1.
   */
  line?: number | null;
  /**
   * File, for code outside a notebook.
   */
  file?: string | null;
  /**
   * Its path from the kernel's folder, if it is in there.
   */
  path?: string | null;
}
/**
 * Work that has taken over a second and goes on.
 */
export interface WorkRecord {
  id: string;
  kind: 'trace' | 'run' | 'loop' | 'export';
  /**
   * What is worked on, such as train_step.
   */
  name: string;
  /**
   * Id of the function, if it is listed.
   */
  function?: string | null;
  /**
   * What is done, since when, and how far it is.
   */
  sentence: string;
  /**
   * Whole seconds since it began.
   */
  seconds: number;
  /**
   * How much is done, where that is known.
   */
  done?: number | null;
  /**
   * How much there is, where that is known.
   */
  total?: number | null;
}
/**
 * The whole state. A client drops what it knew and takes this.
 */
export interface Snapshot1 {
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
  /**
   * Whether %tf_auto is on.
   */
  auto?: boolean;
  /**
   * Address of the documentation, if it is known.
   */
  documentation?: string | null;
  totals?: Totals | null;
  state: State;
  /**
   * The outlines that the client shows, by their targets.
   */
  pages?: {
    [k: string]: Page | null;
  };
}
/**
 * What changed since the message with the sequence number before.
 */
export interface Patch {
  type: 'patch';
  epoch: string;
  seq: number;
  /**
   * Version of TensorFlow, if imported.
   */
  tensorflow?: string | null;
  /**
   * Whether %tf_auto is on.
   */
  auto?: boolean;
  totals: Totals;
  put: State;
  removed: Removed;
  /**
   * The outlines that the client shows and that have changed; null if there is no such function or cell any more.
   */
  pages?: {
    [k: string]: Page | null;
  };
}
/**
 * Ids of rows to take out of the tables.
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
 * The outlines that a client shows now and did not show before.
 */
export interface Pages {
  type: 'pages';
  epoch: string;
  pages: {
    [k: string]: Page | null;
  };
}
/**
 * How far the messages have come; a client that knows less has missed some.
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
 * The kernel's answer to a client that speaks another protocol.
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
 * What the kernel says on its presence comm when nbfn has been loaded.
 */
export interface Presence {
  type: 'presence';
}
/**
 * What a client sends when it opens the comm.
 */
export interface Attach {
  type: 'attach';
  protocol: number;
  /**
   * Version of the front end.
   */
  nbfn: string;
  /**
   * Random, one per page; its newest comm takes the place of those before.
   */
  page?: string | null;
}
/**
 * A client that has lost the thread asks for the whole state.
 */
export interface RequestSnapshot {
  type: 'request_snapshot';
}
/**
 * A client says which outlines it shows now; it gets these, and again when they change.
 */
export interface Look {
  type: 'look';
  /**
   * Ids of functions and cells, or names of parts of the session.
   */
  targets: string[];
}
/**
 * A widget asks for the bundle of the pictures, which the first of them needs.
 */
export interface RequestPictures {
  type: 'request_pictures';
}
/**
 * A client that nobody looks at asks for no patches; later, for a snapshot and patches.
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
  hits: 'Calls that a trace served which was there.',
  traces: 'Traces in the caches of these functions now.',
  retraces: 'Misses after the first trace whose traces can still serve.',
  trace_seconds:
    'What making graphs has taken in the runs of all cells; without cells, in the calls of the functions.',
  trace_nbytes: 'Size of all GraphDefs.',
  variables:
    "Variables that the notebook's names lead to, or that a trace has captured which can still serve.",
  variable_nbytes: 'Size of these variables.'
};
