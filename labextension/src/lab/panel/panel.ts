import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import type { Running } from '../../feed/running';
import type { KernelSession } from '../../feed/session';
import { findCell, hasId, showCell } from '../cells/places';
import { CommandIDs, PANEL_ID } from '../commands/ids';
import { nbfnIcon } from '../icon';
import { noticeOf } from '../situation';
import type { KernelDocument, SessionTracker } from '../tracker';
import { PanelHeader } from './header';
import { ViewCache } from './viewCache';
import { NoticeView } from './noticeView';

/** Options of a session panel. */
interface SessionPanelOptions {
  tracker: SessionTracker;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** Shows a document of the shell. */
  activate: (documentId: string) => void;
}

/** The sidebar panel: shows the session of the active notebook's kernel, or why there is none. */
export class SessionPanel extends Widget {
  /** Creates a panel that follows the tracker while it is visible. */
  constructor(options: SessionPanelOptions) {
    super();
    const { commands, tracker, trans } = options;
    this._options = options;
    this.id = PANEL_ID;
    this.addClass('nbfn-Panel');
    this.title.icon = nbfnIcon;
    this.title.caption = trans.__('TensorFlow functions and traces');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', this.title.caption);
    // Without it, the element could not get the focus when the panel is activated.
    this.node.tabIndex = -1;
    this._header = new PanelHeader(trans, {
      onDocument: () => this._showDocument(tracker.document),
      onRunning: running => void this._showRunning(running)
    });
    this._notice = new NoticeView(trans, {
      onLoad: () => void commands.execute(CommandIDs.load),
      onInsert: code => void commands.execute(CommandIDs.insertCell, { code })
    });
    const body = document.createElement('div');
    body.className = 'nbfn-Panel-body';
    this._views = new ViewCache(body);
    this.node.append(this._header.node, this._notice.node, body);
    tracker.changed.connect(this._update, this);
  }

  /** Removes the views, and stops following the tracker. */
  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._options.tracker.changed.disconnect(this._update, this);
    this._title?.changed.disconnect(this._update, this);
    this._stop?.();
    this._setActive(false);
    this._views.dispose();
    super.dispose();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.node.focus();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._setActive(true);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this._setActive(true);
    }
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._setActive(false);
  }

  private _setActive(active: boolean): void {
    this._active = active;
    this._header.setActive(active);
    if (active) {
      this._options.tracker.start();
      this._update();
    }
    this._views.setActive(active);
  }

  private _update(): void {
    if (!this._active || this.isDisposed) {
      return;
    }
    const { tracker, trans } = this._options;
    const { document, situation } = tracker;
    if (document?.title !== this._title) {
      this._title?.changed.disconnect(this._update, this);
      this._title = document?.title;
      this._title?.changed.connect(this._update, this);
    }
    const session = situation.kind === 'session' ? situation.session : null;
    const notice = noticeOf(situation, trans);
    if (session !== this._session) {
      this._stop?.();
      this._session = session;
      // The header also shows data of patches, which do not change the status.
      this._stop = session?.store.subscribe(() => this._updateHeader());
    }
    this._updateHeader();
    this._notice.update(notice);
    this._views.show(notice ? null : session);
  }

  private _updateHeader(): void {
    if (this._active) {
      this._header.update(this._options.tracker.document, this._session);
    }
  }

  private _showDocument(document: KernelDocument | null): void {
    if (document && !document.isDisposed) {
      this._options.activate(document.id);
    }
  }

  private async _showRunning({ cellId, code }: Running): Promise<void> {
    const { tracker } = this._options;
    // A cell that another page runs is known by its text only.
    const place = findCell(
      tracker,
      tracker.document,
      cellId === null
        ? cell => code !== null && cell.model.sharedModel.getSource() === code
        : hasId(cellId)
    );
    this._showDocument(place?.panel ?? tracker.document);
    if (place) {
      await showCell(place);
    }
  }

  private readonly _options: SessionPanelOptions;
  private readonly _header: PanelHeader;
  private readonly _notice: NoticeView;
  private readonly _views: ViewCache;
  private _title: KernelDocument['title'] | undefined;
  private _session: KernelSession | null = null;
  private _stop: (() => void) | undefined;
  private _active = false;
}
