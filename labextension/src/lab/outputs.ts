import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { SavedSource } from '../feed/savedSource';
import type { GraphRecord, Page, SavedView } from '../protocol';
import { PROTOCOL } from '../protocol';
import type { Mounted, ViewChoice } from '../views';
import { HOST } from './host';
import type { KernelDocument, SessionTracker } from './tracker';

/** The MIME type of nbfn's views in outputs, as `nbfn.protocol` names it. */
export const MIME_TYPE = 'application/vnd.nbfn.view+json';

/** Precedes the widget, which cannot be drawn without its kernel. */
export const RANK = -20;

/** Options of nbfn's outputs. */
interface OutputOptions {
  tracker: SessionTracker;
  trans: TranslationBundle;
}

/** Draws nbfn's outputs with the panel's views: live while their kernel runs, then the last known state. */
export function outputFactory(options: OutputOptions): IRenderMime.IRendererFactory {
  return {
    safe: true, // Text from user code is never drawn as HTML.
    mimeTypes: [MIME_TYPE],
    createRenderer: () => new OutputView(options)
  };
}

/** One output of nbfn. */
class OutputView extends Widget implements IRenderMime.IRenderer {
  /** Creates an empty output. */
  constructor({ tracker, trans }: OutputOptions) {
    super();
    this._tracker = tracker;
    this._trans = trans;
    this.addClass('nbfn-Output');
    // An output that is scrolled out of sight draws no changes.
    this._observer = new IntersectionObserver(entries => {
      this._isSeen = entries.at(-1)?.isIntersecting === true;
      this._mounted?.setActive(this._isSeen);
    });
    this._observer.observe(this.node);
  }

  /** Draws the model of an output, or an update of it. */
  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const data: unknown = model.data[MIME_TYPE];
    const choice = isSavedView(data) ? choiceOf(data) : null;
    if (!isSavedView(data) || !choice) {
      this._showText(model.data['text/plain']);
      return;
    }
    this._choice = choice;
    if (this._source) {
      this._source.update(data);
      this._mounted?.choose(choice);
    } else {
      this._source = new SavedSource(data);
      this._follow();
    }
    const { mount } = await import('../views');
    if (this.isDisposed || this._mounted) {
      return;
    }
    this._mounted = mount(this.node, this._source, this._choice, HOST);
    this._mounted.setActive(this._isSeen);
  }

  /** Stops following the kernel, and removes the view. */
  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._observer.disconnect();
    this._leave();
    this._mounted?.dispose();
    this._source?.dispose();
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._leave();
    this._document = this._tracker.documentAround(this.node);
    this._document?.sessionContext.kernelChanged.connect(this._follow, this);
    this._follow();
  }

  protected override onBeforeDetach(message: Message): void {
    super.onBeforeDetach(message);
    this._mounted?.setActive(false);
  }

  private _leave(): void {
    this._document?.sessionContext.kernelChanged.disconnect(this._follow, this);
    this._document = null;
  }

  private _follow(): void {
    const kernel = this._document?.sessionContext.session?.kernel;
    this._source?.follow(kernel ? this._tracker.sessionOf(kernel) : null);
  }

  /** Shows the text of an output that another version of nbfn has written. */
  private _showText(text: unknown): void {
    const pre = document.createElement('pre');
    pre.textContent = typeof text === 'string' ? text : '';
    const note = document.createElement('p');
    note.className = 'nbfn-Gone';
    note.textContent = this._trans.__(
      'This output was written by another version of nbfn; this is its text.'
    );
    this.node.replaceChildren(note, pre);
  }

  private readonly _tracker: SessionTracker;
  private readonly _trans: TranslationBundle;
  private readonly _observer: IntersectionObserver;
  private _document: KernelDocument | null = null;
  private _source: SavedSource | null = null;
  private _choice: ViewChoice | null = null;
  private _mounted: Mounted | null = null;
  private _isSeen = true;
}

/** The view of an entry; null if its data are missing. */
function choiceOf({ view, target, page, graph }: SavedView): ViewChoice | null {
  switch (view) {
    case 'session':
      return { view };
    case 'page':
      return isPage(page) ? { view, page, ...(isGraph(graph) ? { graph } : {}) } : null;
    case 'graph':
      return isGraph(graph) ? { view, graph } : null;
    default:
      return { view, target: target ?? null };
  }
}

function isPage(page: SavedView['page']): page is Page {
  return [page?.lines, page?.tables, page?.groups].every(Array.isArray);
}

function isGraph(graph: SavedView['graph']): graph is GraphRecord {
  return [graph?.texts, graph?.places, graph?.parts].every(Array.isArray);
}

/** Whether an entry can be read; a notebook may contain anything. */
function isSavedView(value: unknown): value is SavedView {
  const { view, snapshot } = (value ?? {}) as Partial<SavedView>;
  return (
    ['function', 'cell', 'session', 'page', 'graph'].includes(view as string) &&
    snapshot?.protocol === PROTOCOL &&
    typeof snapshot.state === 'object'
  );
}
