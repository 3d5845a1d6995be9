import type { VNode } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import type { KernelState, Presence } from '../../feed/store';
import type { Page } from '../../protocol';
import { trans } from '../../words';

/** The environment of a view. */
interface Surroundings {
  /** Whether the view's kernel is alive; without it, no actions are offered. */
  presence: Presence;
  /** Whether the host can show and insert cells. */
  hasCells: boolean;
  /** Requests an outline, now and after changes, until the returned function is called. */
  requestOutline: (target: string) => () => void;
}

/** The surroundings of a view, given by its host. */
export const SurroundingsContext = createContext<Surroundings>({
  presence: 'live',
  hasCells: true,
  requestOutline: () => () => undefined
});

/** The outline of a function or cell, updated while it is shown; undefined until it arrives. */
export function useOutline(
  state: KernelState,
  target: string
): Page | null | undefined {
  const { requestOutline } = useContext(SurroundingsContext);
  useEffect(() => requestOutline(target), [requestOutline, target]);
  return state.pages.get(target);
}

/** The note above a view whose kernel has ended. */
export function KernelEnded(): VNode {
  return <p class="nbfn-Gone">{trans.__('Last state; its kernel is gone.')}</p>;
}
