import type {
  Mark,
  Page,
  Pages,
  Patch,
  Removed,
  Snapshot,
  State,
  Totals
} from '../protocol';
import { Listeners } from './listeners';

/** The tables of the state: records by id, in the order of their creation. */
type Tables = {
  readonly [Name in keyof State]-?: ReadonlyMap<string, Required<State>[Name][string]>;
};

/** A kernel's state at one moment; immutable. */
export interface KernelState extends Tables {
  readonly epoch: string;
  readonly seq: number;
  /** Version of nbfn in the kernel. */
  readonly nbfn: string;
  /** Version of TensorFlow, or null if the kernel has not imported it. */
  readonly tensorflow: string | null;
  /** How much there is of everything, also of what the tables leave out. */
  readonly totals: Totals;
  /** The outlines of functions and cells that were looked at, by id; null of what is no more. */
  readonly pages: ReadonlyMap<string, Page | null>;
}

/** Whether the kernel is alive, not yet known, or ended. */
export type Presence = 'live' | 'unknown' | 'gone';

/** Options of a store. */
export interface StoreOptions {
  /** Whether there is a kernel behind what it is given; live by default. */
  presence?: Presence;
  /** Called once when messages were lost; the answer should be a snapshot. */
  requestSnapshot?: () => void;
  /** Called when other outlines are looked at than before, with the ids of all. */
  look?: (targets: string[]) => void;
}

/**
 * The front end's copy of what a kernel knows.
 *
 * Snapshots replace it, patches advance it by one sequence number. A patch after a gap, or of
 * an unknown epoch, is not applied: the store asks for a snapshot instead, once, until one
 * comes.
 */
export class Store {
  /** Fixed: a store whose kernel has ended is replaced. */
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

  /** Whether something was asked for that has not come: a snapshot, or an outline. */
  get isWaiting(): boolean {
    // A kernel that has sent nothing yet, because nbfn is not loaded, knows no outlines.
    const isMissing = (id: string) => !this._current.has(id);
    return this._awaiting || (!!this._state && [...this._looks.keys()].some(isMissing));
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    return this._listeners.add(listener);
  }

  /** Has an outline sent, now and when it changes, until the returned function is called. */
  look(target: string): () => void {
    const number = this._looks.get(target) ?? 0;
    this._looks.set(target, number + 1);
    if (number === 0) {
      this._tellLooks();
    }
    let isOver = false;
    return () => {
      const left = (this._looks.get(target) ?? 0) - 1;
      if (isOver) {
        return;
      }
      isOver = true;
      if (left > 0) {
        this._looks.set(target, left);
      } else {
        this._looks.delete(target);
        this._current.delete(target);
        this._tellLooks();
      }
    };
  }

  /** Applies a message of the kernel, if it is the one that comes next. */
  receive(message: Snapshot | Patch | Pages | Mark): void {
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

  /** Asks for a snapshot, as messages may have been lost; once, until one comes. */
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

  private _take(snapshot: Snapshot): void {
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
    // Over another comm, the kernel does not know yet what is looked at.
    if (this.isWaiting) {
      this._tellLooks();
    }
  }

  /** The outlines with some that have come. */
  private _withPages(
    pages: Record<string, Page | null> | undefined,
    old: KernelState['pages'] = this._state?.pages ?? new Map<string, Page | null>()
  ): KernelState['pages'] {
    const come = Object.entries(pages ?? {});
    come.forEach(([id]) => this._current.add(id));
    return come.length === 0 ? old : new Map([...old, ...come]);
  }

  /** Sends the visible targets, at most once per microtask. */
  private _tellLooks(): void {
    if (!this._isTelling) {
      this._isTelling = true;
      queueMicrotask(() => {
        this._isTelling = false;
        if (this._state) {
          this._options.look?.([...this._looks.keys()]);
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
  private _isTelling = false;
  /** How often each outline is looked at. */
  private readonly _looks = new Map<string, number>();
  /** Those that have come since. */
  private readonly _current = new Set<string>();
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
