import type { VNode } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { retracesOf, tracesOf } from '../../feed/lookup';
import type { Presence } from '../../feed/store';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord } from '../../protocol';
import { trans } from '../../words';

/** Whether the kernel behind the view is there; without it, nothing that acts is offered. */
export const PresenceContext = createContext<Presence>('live');

/** Whether the host can go to cells and insert some. */
export const CellsContext = createContext(true);

/** Asks for the rows of a function. */
export const DetailsContext = createContext<(functionId: string) => void>(
  () => undefined
);

/** Asks for the traces and retraces of a function that are not known, while it is looked at. */
export function useDetails(state: KernelState, fn: FunctionRecord): void {
  const ask = useContext(DetailsContext);
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
