import type { KernelState } from './store';

/** Whether the kernel behind a view is there: to be seen, not yet known, or for good not. */
export type Presence = 'live' | 'unknown' | 'gone';

/** What a view draws. */
export interface Source {
  readonly state: KernelState | null;
  readonly presence: Presence;
  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void;
  /** Asks for the rows of a function that the tables leave out; they come later, if at all. */
  requestDetails(functionId: string): void;
}
