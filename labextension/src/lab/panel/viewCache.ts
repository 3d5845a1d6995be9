import type { KernelSession } from '../../feed/session';
import type { Mounted } from '../../views';
import { HOST } from '../host';

/** Maximum number of cached views; few pages use more notebooks. */
const MAX_VIEWS = 6;

/** The view of one session. */
interface View {
  readonly node: HTMLElement;
  scrollTop: number;
  mounted: Mounted | null;
}

/**
 * The views of the sessions that the panel has shown, of which one is visible.
 *
 * A hidden view keeps its open sections, typed text and scroll position.
 */
export class ViewCache {
  /** Creates a cache whose views are in an element. */
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
      // The map is in the order of use, so the first is dropped.
      this._views.delete(session);
      this._views.set(session, view);
      view.node.hidden = false;
      view.node.scrollTop = view.scrollTop;
      view.mounted?.setActive(this._active);
      this._dropOldest();
    }
  }

  /** Sets whether the panel is visible. */
  setActive(active: boolean): void {
    this._active = active;
    const view = this._visible;
    view?.mounted?.setActive(active);
    if (view && active) {
      view.node.scrollTop = view.scrollTop;
    }
  }

  /** Removes all views from the page. */
  dispose(): void {
    for (const [session, view] of [...this._views]) {
      this._drop(session, view);
    }
    this._session = null;
  }

  private get _visible(): View | null {
    return (this._session && this._views.get(this._session)) ?? null;
  }

  private _hide(): void {
    const view = this._visible;
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
        // A browser may scroll a hidden element back to the top.
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

  /** Mounts a view; the views' code is loaded on first use, not when the application starts. */
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
