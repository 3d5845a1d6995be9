import type { KernelState, Presence } from './store';

/** What a view draws. */
export interface Source {
  readonly state: KernelState | null;
  readonly presence: Presence;
  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void;
  /** Asks for the rows of a function that the tables leave out; they come later, if at all. */
  requestDetails(functionId: string): void;
}
