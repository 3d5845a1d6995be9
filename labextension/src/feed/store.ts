import type {
  Mark,
  Page,
  Pages,
  Patch,
  Removed,
  SnapshotMessage,
  Rows,
  Totals
} from '../protocol';
import { Listeners } from './listeners';

/** The tables of the state: records by id, in the order of their creation. */
type Tables = {
  readonly [Name in keyof Rows]-?: ReadonlyMap<string, Required<Rows>[Name][string]>;
};

/** A kernel's state at one moment; immutable. */
export interface KernelState extends Tables {
  readonly epoch: string;
  readonly seq: number;
  /** Version of nbfn in the kernel. */
  readonly nbfn: string;
  /** Version of TensorFlow, or null if the kernel has not imported it. */
  readonly tensorflow: string | null;
  /** Counts of everything, including rows that the tables leave out. */
  readonly totals: Totals;
  /** The requested outlines, by target; null if the function or cell no longer exists. */
  readonly pages: ReadonlyMap<string, Page | null>;
}

/** Whether the kernel is alive, unknown, or has ended. */
export type Presence = 'live' | 'unknown' | 'ended';

/** Options of a store. */
export interface StoreOptions {
  /** Whether a kernel sends the messages; live by default. */
  presence?: Presence;
  /** Called once when messages were lost; must lead to a snapshot. */
  requestSnapshot?: () => void;
  /** Called when the set of requested outlines has changed, with all targets. */
  setTargets?: (targets: string[]) => void;
}

/**
 * The front end's copy of a kernel's state.
 *
 * Snapshots replace it; patches advance it by one sequence number. After a gap, or with an
 * unknown epoch, a patch is not applied: the store requests a snapshot instead, once, until it
 * arrives.
 */
export class Store {
  /** Constant: a store whose kernel has ended is replaced. */
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

  /** Whether a requested snapshot or outline has not arrived. */
  get isWaiting(): boolean {
    // Before the first snapshot, nbfn may not be loaded, and no outline can arrive.
    const isMissing = (id: string) => !this._current.has(id);
    return (
      this._awaiting || (!!this._state && [...this._requested.keys()].some(isMissing))
    );
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    return this._listeners.add(listener);
  }

  /** Requests an outline, now and after changes, until the returned function is called. */
  requestOutline(target: string): () => void {
    const number = this._requested.get(target) ?? 0;
    this._requested.set(target, number + 1);
    if (number === 0) {
      this._sendTargets();
    }
    let isReleased = false;
    return () => {
      const left = (this._requested.get(target) ?? 0) - 1;
      // The returned function may be called more than once.
      if (isReleased) {
        return;
      }
      isReleased = true;
      if (left > 0) {
        this._requested.set(target, left);
      } else {
        this._requested.delete(target);
        this._current.delete(target);
        this._sendTargets();
      }
    };
  }

  /** Applies a message of the kernel if it is the next one. */
  receive(message: SnapshotMessage | Patch | Pages | Mark): void {
    switch (message.type) {
      case 'snapshot':
        this._take(message);
        break;
      case 'pages':
        if (message.epoch === this._state?.epoch) {
          this._set({ ...this._state, pages: this._withPages(message.pages) });
        }
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

  /** Requests a snapshot because messages may have been lost; once, until it arrives. */
  refresh(): void {
    if (!this._awaiting) {
      this._awaiting = true;
      this._options.requestSnapshot?.();
    }
  }

  /** Forgets the state; the same kernel may send it again. */
  forget(): void {
    this._awaiting = false;
    this._current.clear();
    if (this._state) {
      this._set(null);
    }
  }

  private _take(snapshot: SnapshotMessage): void {
    const old = this._state;
    if (old?.epoch === snapshot.epoch && snapshot.seq < old.seq && !this._awaiting) {
      return;
    }
    this._awaiting = false;
    this._current.clear();
    const isSame = old?.epoch === snapshot.epoch;
    this._set({
      pages: this._withPages(snapshot.pages, isSame ? old.pages : undefined),
      totals: snapshot.totals ?? {},
      epoch: snapshot.epoch,
      seq: snapshot.seq,
      nbfn: snapshot.nbfn,
      tensorflow: snapshot.tensorflow ?? null,
      ...patchedTables({}, snapshot.state)
    });
    // Over another comm, the kernel does not know the requested outlines yet.
    if (this.isWaiting) {
      this._sendTargets();
    }
  }

  /** The outlines, updated with those that have arrived. */
  private _withPages(
    pages: Record<string, Page | null> | undefined,
    old: KernelState['pages'] = this._state?.pages ?? new Map<string, Page | null>()
  ): KernelState['pages'] {
    const arrived = Object.entries(pages ?? {});
    arrived.forEach(([id]) => this._current.add(id));
    return arrived.length === 0 ? old : new Map([...old, ...arrived]);
  }

  /** Reports the requested targets, at most once per microtask. */
  private _sendTargets(): void {
    if (!this._isScheduled) {
      this._isScheduled = true;
      queueMicrotask(() => {
        this._isScheduled = false;
        if (this._state) {
          this._options.setTargets?.([...this._requested.keys()]);
        }
      });
    }
  }

  private _apply(patch: Patch): void {
    const { epoch, seq, tensorflow, totals, put, removed, pages } = patch;
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
      totals,
      pages: this._withPages(pages),
      ...patchedTables(old, put, removed)
    });
  }

  private _set(state: KernelState | null): void {
    this._state = state;
    this._listeners.notify();
  }

  private _state: KernelState | null = null;
  private _awaiting = false;
  private readonly _listeners = new Listeners();
  private _isScheduled = false;
  /** Number of requests of each outline. */
  private readonly _requested = new Map<string, number>();
  /** The requested outlines that have arrived. */
  private readonly _current = new Set<string>();
  private readonly _options: StoreOptions;
}

function patchedTables(
  tables: Partial<Tables>,
  put: Rows,
  removed: Removed = {}
): Tables {
  return {
    cells: patched(tables.cells, put.cells, removed.cells),
    functions: patched(tables.functions, put.functions, removed.functions),
    traces: patched(tables.traces, put.traces, removed.traces),
    retraces: patched(tables.retraces, put.retraces, removed.retraces),
    devices: patched(tables.devices, put.devices, removed.devices),
    models: patched(tables.models, put.models, removed.models),
    runs: patched(tables.runs, put.runs, removed.runs),
    work: patched(tables.work, put.work, removed.work)
  };
}

/** Returns a table with rows added and then removed; the same table if there are none. */
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
