import type { VNode } from 'preact';
import { render } from 'preact';
import type { Source } from '../feed/source';
import { Looks } from '../feed/source';
import type { KernelState } from '../feed/store';
import type { GraphRecord, Page } from '../protocol';
import { GraphView } from './outlines/graphView';
import { OutlineView } from './outlines/outlineView';
import { PageView } from './outlines/pageView';
import type { LoadPictures } from './outlines/picture';
import { PicturesContext } from './outlines/picture';
import { Gone, SurroundingsContext } from './parts/presence';
import { SessionView } from './sessionView';

/** Which view to show: one function, one cell, the whole session, a result's page, or a graph. */
export type ViewChoice =
  | { view: 'function' | 'cell'; target: string | null }
  | { view: 'session' }
  | { view: 'page'; page: Page; graph?: GraphRecord }
  | { view: 'graph'; graph: GraphRecord };

/** Views of what does not change any more, with or without a kernel. */
const RESULTS: ReadonlySet<ViewChoice['view']> = new Set(['page', 'graph']);

/** A view on the page. */
export interface Mounted {
  /** Shows another view. */
  choose(choice: ViewChoice): void;
  /** Whether to follow the source; a view that nobody sees waits until it is seen. */
  setActive(active: boolean): void;
  /** Takes the view off the page and lets go of the source. */
  dispose(): void;
}

/** What a host has. */
export interface Host {
  /** Loads the bundle of the pictures when the first is looked at. */
  loadPictures: LoadPictures;
  /** Whether it has cells that it can go to, and can insert some. */
  hasCells: boolean;
}

/** Shows a view of a source in an element; changes are drawn once per animation frame. */
export function mount(
  element: HTMLElement,
  source: Source,
  choice: ViewChoice,
  { loadPictures, hasCells }: Host
): Mounted {
  let active = true;
  let dirty = false;
  let frame = 0;

  const draw = (): void => {
    frame = 0;
    dirty = false;
    const { state, presence } = source;
    render(
      <SurroundingsContext.Provider value={{ presence, hasCells, look }}>
        <PicturesContext.Provider value={loadPictures}>
          {presence === 'gone' && !RESULTS.has(choice.view) && <Gone />}
          {drawn(state)}
        </PicturesContext.Provider>
      </SurroundingsContext.Provider>,
      element
    );
  };
  const looks = new Looks();
  looks.follow(source);
  const look = looks.add;
  const drawn = (state: KernelState | null): VNode => {
    switch (choice.view) {
      case 'function':
      case 'cell':
        return state && choice.target ? (
          <OutlineView state={state} target={choice.target} />
        ) : (
          <></>
        );
      case 'session':
        return <SessionView state={state} />;
      case 'page':
        return <PageView page={choice.page} graph={choice.graph} />;
      case 'graph':
        return <GraphView graph={choice.graph} />;
    }
  };
  const request = (): void => {
    dirty = true;
    if (active && frame === 0) {
      frame = requestAnimationFrame(draw);
    }
  };
  const stop = source.subscribe(request);
  element.classList.add('nbfn-View');
  draw();

  return {
    choose(next) {
      choice = next;
      request();
    },
    setActive(next) {
      active = next;
      looks.follow(active ? source : null);
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
