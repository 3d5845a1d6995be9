/** Functions to call on changes. */
export class Listeners {
  /** Adds a listener; the returned function removes it. */
  add(listener: () => void): () => void {
    // A function for each call: the same listener may be added twice, and is then removed once by
    // each.
    const own = () => listener();
    this._all.add(own);
    return () => this._all.delete(own);
  }

  /** Calls all listeners. */
  notify(): void {
    // Of a copy, because a listener may add and remove others.
    for (const listener of [...this._all]) {
      listener();
    }
  }

  /** Removes all listeners. */
  clear(): void {
    this._all.clear();
  }

  private readonly _all = new Set<() => void>();
}
