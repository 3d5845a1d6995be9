import type { VNode } from 'preact';
import { createContext } from 'preact';
import type { Presence } from '../../feed/source';

/** Whether the kernel behind the view is there; without it, nothing that acts is offered. */
export const PresenceContext = createContext<Presence>('live');

/** What stands above a view whose kernel is not there any more. */
export function Gone(): VNode {
  return <p class="nbfn-Gone">Last state; its kernel is gone.</p>;
}
