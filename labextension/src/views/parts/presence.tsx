import type { VNode } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import type { KernelState, Presence } from '../../feed/store';
import type { Page } from '../../protocol';
import { trans } from '../../words';

/** What a view has around it. */
interface Surroundings {
  /** Whether the kernel behind the view is there; without it, nothing that acts is offered. */
  presence: Presence;
  /** Whether the host can go to cells and insert some. */
  hasCells: boolean;
  /** Has an outline sent, now and when it changes, until the returned function is called. */
  look: (target: string) => () => void;
}

/** The surroundings of a view, given by its host. */
export const SurroundingsContext = createContext<Surroundings>({
  presence: 'live',
  hasCells: true,
  look: () => () => undefined
});

/** The outline of a function or a cell, live while it is shown; undefined until it has come. */
export function useOutline(
  state: KernelState,
  target: string
): Page | null | undefined {
  const { look } = useContext(SurroundingsContext);
  useEffect(() => look(target), [look, target]);
  return state.pages.get(target);
}

/** What stands above a view whose kernel is not there any more. */
export function Gone(): VNode {
  return <p class="nbfn-Gone">{trans.__('Last state; its kernel is gone.')}</p>;
}
