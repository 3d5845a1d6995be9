import type { VNode } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { retracesOf, tracesOf } from '../../feed/lookup';
import type { KernelState, Presence } from '../../feed/store';
import type { FunctionRecord } from '../../protocol';
import { trans } from '../../words';

/** What a view has around it. */
export interface Surroundings {
  /** Whether the kernel behind the view is there; without it, nothing that acts is offered. */
  presence: Presence;
  /** Whether the host can go to cells and insert some. */
  hasCells: boolean;
  /** The address of the documentation, if the kernel has told it. */
  documentation: string | null;
  /** Asks for the rows of a function. */
  ask: (functionId: string) => void;
}

/** What a view has around it, told by whoever mounts it. */
export const SurroundingsContext = createContext<Surroundings>({
  presence: 'live',
  hasCells: true,
  documentation: null,
  ask: () => undefined
});

/** A function, and the state that it is a part of. */
export interface FunctionProps {
  state: KernelState;
  fn: FunctionRecord;
}

/** Asks for the traces and retraces of a function that are not known, while it is looked at. */
export function useDetails({ state, fn }: FunctionProps): void {
  const { ask } = useContext(SurroundingsContext);
  const isWhole =
    tracesOf(state, fn.id).length >= fn.traces &&
    retracesOf(state, fn.id).length >= fn.retraces;
  useEffect(() => {
    if (!isWhole) {
      ask(fn.id);
    }
  }, [isWhole, fn.id, fn.traces, fn.retraces, ask]);
}

/** What stands above a view whose kernel is not there any more. */
export function Gone(): VNode {
  return <p class="nbfn-Gone">{trans.__('Last state; its kernel is gone.')}</p>;
}
