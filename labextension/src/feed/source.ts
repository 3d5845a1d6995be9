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

/** What a view looks at, which it does only while somebody sees it. */
export class Looks {
  /** Looks at nothing yet. */
  constructor(look: (target: string) => () => void) {
    this._look = look;
  }

  /** Looks at an outline until the returned function is called. */
  readonly add = (target: string): (() => void) => {
    const one = { target, stop: this._isActive ? this._look(target) : null };
    this._all.add(one);
    return () => {
      this._all.delete(one);
      one.stop?.();
    };
  };

  /** Says whether anybody sees the view. */
  setActive(active: boolean): void {
    if (active !== this._isActive) {
      this._isActive = active;
      this._all.forEach(one => {
        one.stop?.();
        one.stop = active ? this._look(one.target) : null;
      });
    }
  }

  private readonly _look: (target: string) => () => void;
  private readonly _all = new Set<{ target: string; stop: (() => void) | null }>();
  private _isActive = true;
}
