import type { KernelState, Presence } from './store';

/** A kernel's state that a view draws, with its changes. */
export interface Source {
  readonly state: KernelState | null;
  readonly presence: Presence;
  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void;
  /** Requests an outline, now and after changes, until the returned function is called. */
  requestOutline(target: string): () => void;
}

/** Requests outlines from a source that can be exchanged for another one, or for none. */
export class OutlineRequests {
  /** Requests an outline until the returned function is called. */
  readonly add = (target: string): (() => void) => {
    const one = { target, stop: this._source?.requestOutline(target) ?? null };
    this._all.add(one);
    return () => {
      this._all.delete(one);
      one.stop?.();
    };
  };

  /** Requests the same outlines from another source, or from none. */
  follow(source: Source | null): void {
    if (source !== this._source) {
      this._source = source;
      this._all.forEach(one => {
        one.stop?.();
        one.stop = source?.requestOutline(one.target) ?? null;
      });
    }
  }

  private readonly _all = new Set<{ target: string; stop: (() => void) | null }>();
  private _source: Source | null = null;
}
