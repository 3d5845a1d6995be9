import type { VNode } from 'preact';
import { render } from 'preact';
import type { KernelState, Store } from '../feed/store';
import { CellView } from './cellView';
import { FunctionView } from './functionView';
import { SessionView } from './sessionView';

/** Which view to show: one function, one cell, or the whole session. */
export type ViewChoice =
  { view: 'function' | 'cell'; target: string | null } | { view: 'session' };

/** A view on the page. */
export interface Mounted {
  /** Shows another view. */
  choose(choice: ViewChoice): void;
  /** Whether to follow the store; a view that nobody sees waits until it is seen. */
  setActive(active: boolean): void;
  /** Takes the view off the page and lets go of the store. */
  dispose(): void;
}

/** Shows a view of a store in an element; changes are drawn once per animation frame. */
export function mount(element: HTMLElement, store: Store, choice: ViewChoice): Mounted {
  let active = true;
  let dirty = false;
  let frame = 0;

  const draw = (): void => {
    frame = 0;
    dirty = false;
    const { state } = store;
    render(drawn(state), element);
  };
  const drawn = (state: KernelState | null): VNode => {
    switch (choice.view) {
      case 'function':
        return <FunctionView state={state} target={choice.target} />;
      case 'cell':
        return <CellView state={state} target={choice.target} />;
      case 'session':
        return <SessionView state={state} />;
    }
  };
  const request = (): void => {
    dirty = true;
    if (active && frame === 0) {
      frame = requestAnimationFrame(draw);
    }
  };
  const stop = store.subscribe(request);
  element.classList.add('nbfn-View');
  draw();

  return {
    choose(next) {
      choice = next;
      request();
    },
    setActive(next) {
      active = next;
      if (!active) {
        cancelAnimationFrame(frame);
        frame = 0;
      } else if (dirty) {
        request();
      }
    },
    dispose() {
      stop();
      cancelAnimationFrame(frame);
      active = false;
      render(null, element);
      element.classList.remove('nbfn-View');
    }
  };
}
