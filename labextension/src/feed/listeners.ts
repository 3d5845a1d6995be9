/** Functions to call on changes. */
export class Listeners {
  /** Adds a listener; the returned function removes it. */
  add(listener: () => void): () => void {
    const own = () => listener();
    this._all.add(own);
    return () => this._all.delete(own);
  }

  /** Calls all listeners. */
  notify(): void {
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
