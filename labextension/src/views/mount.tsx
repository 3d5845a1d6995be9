import type { VNode } from 'preact';
import { render } from 'preact';
import type { Source } from '../feed/source';
import { OutlineRequests } from '../feed/source';
import type { KernelState } from '../feed/store';
import type { GraphRecord, Page } from '../protocol';
import { GraphView } from './outlines/graphView';
import { OutlineView } from './outlines/outlineView';
import { PageView } from './outlines/pageView';
import type { LoadPictures } from './outlines/picture';
import { PicturesContext } from './outlines/picture';
import { KernelEnded, SurroundingsContext } from './parts/presence';
import { SessionView } from './sessionView';

/** Which view to show: one function, one cell, the whole session, a result's page, or a graph. */
export type ViewChoice =
  | { view: 'function' | 'cell'; target: string | null }
  | { view: 'session' }
  | { view: 'page'; page: Page; graph?: GraphRecord }
  | { view: 'graph'; graph: GraphRecord };

/** Views of results, which do not change, with or without a kernel. */
const RESULTS: ReadonlySet<ViewChoice['view']> = new Set(['page', 'graph']);

/** A view on the page. */
export interface Mounted {
  /** Shows another view. */
  choose(choice: ViewChoice): void;
  /** Sets whether to draw changes of the source; an invisible view waits until it is visible. */
  setActive(active: boolean): void;
  /** Removes the view from the page, and stops following the source. */
  dispose(): void;
}

/** The features of a host. */
export interface Host {
  /** Loads the bundle of the pictures, when the first one is drawn. */
  loadPictures: LoadPictures;
  /** Whether it can show and insert cells. */
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
      <SurroundingsContext.Provider value={{ presence, hasCells, requestOutline }}>
        <PicturesContext.Provider value={loadPictures}>
          {presence === 'ended' && !RESULTS.has(choice.view) && <KernelEnded />}
          {drawn(state)}
        </PicturesContext.Provider>
      </SurroundingsContext.Provider>,
      element
    );
  };
  const requests = new OutlineRequests();
  requests.follow(source);
  const requestOutline = requests.add;
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
      requests.follow(active ? source : null);
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
