import type {
  Details,
  Mark,
  Patch,
  Removed,
  Snapshot,
  State,
  Totals
} from '../protocol';
import { Listeners } from './listeners';

/** The tables of the state: records by id, in the order of their creation. */
export type Tables = {
  readonly [Name in keyof State]-?: ReadonlyMap<string, Required<State>[Name][string]>;
};

/** What a kernel has told, at one moment. Never changed once made. */
export interface KernelState extends Tables {
  readonly epoch: string;
  readonly seq: number;
  /** Version of nbfn in the kernel. */
  readonly nbfn: string;
  /** Version of TensorFlow, or null if the kernel has not imported it. */
  readonly tensorflow: string | null;
  /** Whether `%tf_auto` is on. */
  readonly auto: boolean;
  /** Address of the documentation, if it is known. */
  readonly documentation: string | null;
  /** How much there is of everything, also of what the tables leave out. */
  readonly totals: Totals;
  /** The rows of functions that somebody has looked at, by the function's id. */
  readonly details: ReadonlyMap<string, State>;
}

/** Whether the kernel behind a view is there: to be seen, not yet known, or for good not. */
export type Presence = 'live' | 'unknown' | 'gone';

/** Options of a store. */
export interface StoreOptions {
  /** Whether there is a kernel behind what it is given; live unless it is said. */
  presence?: Presence;
  /** Called once when messages were lost; the answer should be a snapshot. */
  requestSnapshot?: () => void;
  /** Called when somebody looks at a function of which the tables leave something out. */
  requestDetails?: (functionId: string) => void;
}

/**
 * The front end's copy of what a kernel knows.
 *
 * Snapshots replace it, patches advance it by one sequence number. A patch after a gap, or of
 * an unknown epoch, is not applied: the store asks for a snapshot instead, once, until one
 * comes.
 */
export class Store {
  /** Whether the kernel is there: a store that nobody fills any more is thrown away. */
  readonly presence: Presence;

  /** Creates an empty store. */
  constructor(options: StoreOptions = {}) {
    this._options = options;
    this.presence = options.presence ?? 'live';
  }

  /** The newest state, or null before the first snapshot. */
  get state(): KernelState | null {
    return this._state;
  }

  /** Whether something was asked for that has not come: a snapshot, or the rows of a function. */
  get isWaiting(): boolean {
    return (
      this._awaiting || [...this._asked].some(id => this._state?.functions.has(id))
    );
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    return this._listeners.add(listener);
  }

  /** Asks for the rows of a function, which come later, if at all. */
  requestDetails(functionId: string): void {
    if (!this._asked.has(functionId)) {
      this._asked.add(functionId);
      this._options.requestDetails?.(functionId);
    }
  }

  /** Applies a message of the kernel, if it is the one that comes next. */
  receive(message: Snapshot | Patch | Details | Mark): void {
    switch (message.type) {
      case 'snapshot':
        this._take(message);
        break;
      case 'details':
        this._fill(message);
        break;
      case 'mark':
        if (message.epoch !== this._state?.epoch || message.seq > this._state.seq) {
          this.refresh();
        }
        break;
      case 'patch':
        this._apply(message);
    }
  }

  /** Asks for a snapshot, as messages may have been lost; once, until one comes. */
  refresh(): void {
    if (!this._awaiting) {
      this._awaiting = true;
      this._options.requestSnapshot?.();
    }
  }

  /** Forgets the state; the same kernel may tell it again. */
  forget(): void {
    this._awaiting = false;
    this._asked.clear();
    if (this._state) {
      this._set(null);
    }
  }

  private _take(snapshot: Snapshot): void {
    const old = this._state;
    if (old?.epoch === snapshot.epoch && snapshot.seq < old.seq && !this._awaiting) {
      return;
    }
    this._awaiting = false;
    this._set({
      details: new Map(),
      totals: snapshot.totals ?? {},
      epoch: snapshot.epoch,
      seq: snapshot.seq,
      nbfn: snapshot.nbfn,
      tensorflow: snapshot.tensorflow ?? null,
      auto: snapshot.auto ?? false,
      documentation: snapshot.documentation ?? null,
      ...patchedTables({}, snapshot.state)
    });
    // What was asked before may have been lost with whatever made a snapshot necessary.
    const asked = [...this._asked];
    this._asked.clear();
    asked.forEach(id => this.requestDetails(id));
  }

  private _fill({ epoch, function: id, state }: Details): void {
    this._asked.delete(id);
    if (this._state?.epoch === epoch) {
      this._set({
        ...this._state,
        details: new Map(this._state.details).set(id, state)
      });
    }
  }

  private _apply(patch: Patch): void {
    const { epoch, seq, tensorflow, auto, totals, put, removed } = patch;
    const old = this._state;
    if (old?.epoch === epoch && seq <= old.seq) {
      return;
    }
    if (old?.epoch !== epoch || seq !== old.seq + 1) {
      this.refresh();
      return;
    }
    this._set({
      ...old,
      seq,
      tensorflow: tensorflow ?? old.tensorflow,
      auto: auto ?? old.auto,
      totals,
      ...patchedTables(old, put, removed)
    });
  }

  private _set(state: KernelState | null): void {
    this._state = state;
    this._listeners.tell();
  }

  private _state: KernelState | null = null;
  private _awaiting = false;
  private readonly _listeners = new Listeners();
  private readonly _asked = new Set<string>();
  private readonly _options: StoreOptions;
}

function patchedTables(
  tables: Partial<Tables>,
  put: State,
  removed: Removed = {}
): Tables {
  return {
    cells: patched(tables.cells, put.cells, removed.cells),
    functions: patched(tables.functions, put.functions, removed.functions),
    traces: patched(tables.traces, put.traces, removed.traces),
    retraces: patched(tables.retraces, put.retraces, removed.retraces),
    variables: patched(tables.variables, put.variables, removed.variables),
    devices: patched(tables.devices, put.devices, removed.devices),
    models: patched(tables.models, put.models, removed.models),
    runs: patched(tables.runs, put.runs, removed.runs),
    work: patched(tables.work, put.work, removed.work)
  };
}

/** A table with the rows put and then taken out; the same table if nothing is to do. */
function patched<T>(
  table: ReadonlyMap<string, T> = new Map<string, T>(),
  put: Record<string, T> = {},
  removed: readonly string[] = []
): ReadonlyMap<string, T> {
  const rows = Object.entries(put);
  if (rows.length === 0 && removed.length === 0) {
    return table;
  }
  const next = new Map(table);
  for (const [id, row] of rows) {
    next.set(id, row);
  }
  for (const id of removed) {
    next.delete(id);
  }
  return next;
}
