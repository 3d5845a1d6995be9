import type { KernelSession } from '../../feed/session';
import type { Mounted } from '../../views';
import { HOST } from '../host';

/** Maximum number of sessions that keep their views; few pages use more notebooks. */
const MAX_VIEWS = 6;

/** The view of one session. */
interface View {
  readonly node: HTMLElement;
  scrollTop: number;
  mounted: Mounted | null;
}

/**
 * The views of the sessions that the panel has shown, of which one is seen.
 *
 * A view keeps what the user has opened, typed and scrolled to while another is seen.
 */
export class KeptViews {
  /** Keeps views in an element. */
  constructor(node: HTMLElement) {
    this._node = node;
  }

  /** Shows the view of a session, or none. */
  show(session: KernelSession | null): void {
    this._dropEnded();
    if (session === this._session) {
      return;
    }
    this._hide();
    this._session = session;
    if (session) {
      const view = this._views.get(session) ?? this._make(session);
      // Last in the map is seen last, so the first is the one to drop.
      this._views.delete(session);
      this._views.set(session, view);
      view.node.hidden = false;
      view.node.scrollTop = view.scrollTop;
      view.mounted?.setActive(this._active);
      this._dropOldest();
    }
  }

  /** Says whether the panel is seen at all. */
  setActive(active: boolean): void {
    this._active = active;
    const view = this._seen;
    view?.mounted?.setActive(active);
    if (view && active) {
      view.node.scrollTop = view.scrollTop;
    }
  }

  /** Takes all views off the page. */
  dispose(): void {
    for (const [session, view] of [...this._views]) {
      this._drop(session, view);
    }
    this._session = null;
  }

  private get _seen(): View | null {
    return (this._session && this._views.get(this._session)) ?? null;
  }

  private _hide(): void {
    const view = this._seen;
    if (view) {
      view.mounted?.setActive(false);
      view.node.hidden = true;
    }
  }

  private _make(session: KernelSession): View {
    const node = document.createElement('div');
    node.className = 'nbfn-Panel-view';
    const view: View = { node, scrollTop: 0, mounted: null };
    node.addEventListener(
      'scroll',
      () => {
        // A browser may scroll what it hides back to the top.
        if (!node.hidden && this._active) {
          view.scrollTop = node.scrollTop;
        }
      },
      { passive: true }
    );
    this._node.append(node);
    void this._mount(session, view);
    return view;
  }

  /** The views are loaded when they are first needed, not when the application starts. */
  private async _mount(session: KernelSession, view: View): Promise<void> {
    const { mount } = await import('../../views');
    if (this._views.get(session) === view) {
      view.mounted = mount(view.node, session.store, { view: 'session' }, HOST);
      view.mounted.setActive(this._active && this._session === session);
    }
  }

  private _dropEnded(): void {
    for (const [session, view] of [...this._views]) {
      if (session.hasEnded) {
        this._drop(session, view);
      }
    }
  }

  private _dropOldest(): void {
    const [oldest] = this._views;
    if (this._views.size > MAX_VIEWS && oldest) {
      this._drop(...oldest);
    }
  }

  private _drop(session: KernelSession, view: View): void {
    view.mounted?.dispose();
    view.node.remove();
    this._views.delete(session);
    if (this._session === session) {
      this._session = null;
    }
  }

  private readonly _node: HTMLElement;
  private readonly _views = new Map<KernelSession, View>();
  private _session: KernelSession | null = null;
  private _active = false;
}
