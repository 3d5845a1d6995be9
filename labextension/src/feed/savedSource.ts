import type { SavedView } from '../protocol';
import { Listeners } from './listeners';
import type { Source } from './source';
import { OutlineRequests } from './source';
import type { KernelState, Presence } from './store';
import { Store } from './store';

/** The part of a session that outputs use. */
interface Session {
  readonly store: Store;
  readonly status: { readonly kind: string };
  onChange(listener: () => void): () => void;
}

const UNDECIDED: readonly string[] = ['starting', 'waiting'];

/**
 * Source of an output: live while the kernel that made it runs, else the last known state.
 */
export class SavedSource implements Source {
  /** Creates a source that shows the state saved in the notebook. */
  constructor({ snapshot }: SavedView) {
    this._saved.receive(snapshot);
    this._state = this._saved.state;
  }

  /** The newest known state. */
  get state(): KernelState | null {
    return this._state;
  }

  /** Whether the kernel that sent the state is still running. */
  get presence(): Presence {
    if (!this._session) {
      return 'ended';
    }
    const now = this._session.store.state;
    if (now) {
      return now.epoch === this._state?.epoch ? 'live' : 'ended';
    }
    return UNDECIDED.includes(this._session.status.kind) && !this._ended
      ? 'unknown'
      : 'ended';
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    return this._listeners.add(listener);
  }

  /** Requests an outline from the followed session, until the returned function is called. */
  requestOutline(target: string): () => void {
    return this._requests.add(target);
  }

  /** Replaces the saved view, which the notebook has updated. */
  update({ snapshot }: SavedView): void {
    if (this.presence !== 'live' || snapshot.epoch !== this._state?.epoch) {
      this._saved.receive(snapshot);
      this._state = this._saved.state;
      this._ended = false;
      this._update();
    }
  }

  /** Follows the session of a kernel, which may not be the one that made the output; or none. */
  follow(session: Session | null): void {
    if (session === this._session) {
      return;
    }
    this._stop();
    this._session = session;
    this._requests.follow(session?.store ?? null);
    if (session) {
      const stops = [
        session.store.subscribe(() => this._update()),
        session.onChange(() => this._update())
      ];
      this._stop = () => {
        stops.forEach(stop => stop());
      };
    }
    this._update();
  }

  /** Stops following the session. */
  dispose(): void {
    this._stop();
    this._stop = () => undefined;
    this._listeners.clear();
  }

  private _update(): void {
    const now = this._session?.store.state;
    if (now && now.epoch === this._state?.epoch) {
      // Saved outlines are shown until the kernel has sent current ones.
      const pages = new Map([...this._state.pages, ...now.pages]);
      this._state = { ...now, pages };
      this._wasLive = true;
    } else if (this._wasLive) {
      this._ended = true; // A restarted kernel has another epoch.
      this._wasLive = false;
    }
    this._listeners.notify();
  }

  private readonly _saved = new Store();
  private readonly _listeners = new Listeners();
  private readonly _requests = new OutlineRequests();
  private _state: KernelState | null;
  private _session: Session | null = null;
  private _stop: () => void = () => undefined;
  private _wasLive = false;
  private _ended = false;
}
