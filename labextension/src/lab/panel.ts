import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import type { KernelSession } from '../feed/session';
import type { Mounted } from '../views';
import { nbfnIcon } from './icon';
import { sentence } from './situation';
import type { SessionTracker } from './tracker';

/** Options of a session panel. */
export interface SessionPanelOptions {
  tracker: SessionTracker;
  trans: TranslationBundle;
}

/** The sidebar panel: the session of the active notebook's kernel, or why there is none. */
export class SessionPanel extends Widget {
  /** Makes a panel that follows the tracker while it is visible. */
  constructor({ tracker, trans }: SessionPanelOptions) {
    super();
    this._tracker = tracker;
    this._trans = trans;
    this.id = 'nbfn-session-panel';
    this.addClass('nbfn-Panel');
    this.title.icon = nbfnIcon;
    this.title.caption = this._trans.__('TensorFlow functions and traces');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', this.title.caption);
    this._message.className = 'nbfn-Panel-message';
    this._message.setAttribute('role', 'status');
    this.node.append(this._message, this._body);
    this._tracker.changed.connect(this._update, this);
  }

  /** Lets go of the view and of the tracker. */
  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._tracker.changed.disconnect(this._update, this);
    this._unmount();
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._activate();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this._activate();
    }
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._active = false;
    this._mounted?.setActive(false);
  }

  private _activate(): void {
    this._active = true;
    this._tracker.start();
    this._update();
    this._mounted?.setActive(true);
  }

  private _update(): void {
    if (!this._active || this.isDisposed) {
      return;
    }
    const { situation } = this._tracker;
    const text = sentence(situation, this._trans) ?? '';
    if (this._message.textContent !== text) {
      this._message.textContent = text;
    }
    const session = situation.kind === 'session' && !text ? situation.session : null;
    if (session !== this._session) {
      this._unmount();
      this._session = session;
      if (session) {
        void this._mount(session);
      }
    }
  }

  /** The views are loaded when they are first needed, not when the application starts. */
  private async _mount(session: KernelSession): Promise<void> {
    const { mount } = await import('../views');
    if (!this.isDisposed && this._session === session && !this._mounted) {
      this._mounted = mount(this._body, session.store, { view: 'session' });
      this._mounted.setActive(this._active);
    }
  }

  private _unmount(): void {
    this._mounted?.dispose();
    this._mounted = null;
    this._session = null;
  }

  private readonly _tracker: SessionTracker;
  private readonly _trans: TranslationBundle;
  private readonly _message = document.createElement('p');
  private readonly _body = document.createElement('div');
  private _active = false;
  private _session: KernelSession | null = null;
  private _mounted: Mounted | null = null;
}
