import type { KernelState, Presence } from './store';

/** What a view draws. */
export interface Source {
  readonly state: KernelState | null;
  readonly presence: Presence;
  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void;
  /** Has an outline sent, now and when it changes, until the returned function is called. */
  look(target: string): () => void;
}

/** Looks at outlines of one source after the other, or of none for a while. */
export class Looks {
  /** Looks at an outline until the returned function is called. */
  readonly add = (target: string): (() => void) => {
    const one = { target, stop: this._source?.look(target) ?? null };
    this._all.add(one);
    return () => {
      this._all.delete(one);
      one.stop?.();
    };
  };

  /** Looks at the same outlines of another source, or of none. */
  follow(source: Source | null): void {
    if (source !== this._source) {
      this._source = source;
      this._all.forEach(one => {
        one.stop?.();
        one.stop = source?.look(one.target) ?? null;
      });
    }
  }

  private readonly _all = new Set<{ target: string; stop: (() => void) | null }>();
  private _source: Source | null = null;
}
