import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { KernelSession } from '../feed/session';
import { KernelLink } from './kernels/link';
import type { Situation } from './situation';

/** A document with a kernel: a notebook or a console. */
export interface KernelDocument {
  readonly isDisposed: boolean;
  readonly id: string;
  readonly node: HTMLElement;
  readonly title: {
    readonly label: string;
    readonly changed: ISignal<unknown, unknown>;
  };
  readonly sessionContext: ISessionContext;
}

/** The documents of one kind; the common interface of `INotebookTracker` and `IConsoleTracker`. */
interface Documents {
  readonly currentWidget: KernelDocument | null;
  readonly currentChanged: ISignal<unknown, unknown>;
  forEach(visit: (document: KernelDocument) => void): void;
}

const STARTING: readonly string[] = ['initializing', 'starting', 'connecting'];

/** Options of a session tracker. */
interface SessionTrackerOptions {
  /** Kinds of documents, by precedence. */
  documents: readonly Documents[];
}

/**
 * Follows the active document, and holds one session for each kernel.
 *
 * Sessions are stored by kernel id: notebooks may share a kernel, and a notebook may change its
 * kernel.
 */
export class SessionTracker {
  /** Creates a tracker that follows nothing until `start`. */
  constructor(options: SessionTrackerOptions) {
    this._documents = options.documents;
    document.addEventListener('visibilitychange', () => {
      for (const session of this._sessions.values()) {
        session.setActive(!document.hidden);
      }
    });
    // A subshell is a thread of the kernel, which lives until it is deleted.
    window.addEventListener('pagehide', () => {
      this._links.forEach(link => link.endSubshell());
    });
  }

  /** Emitted when the current document, its kernel, or the kernel's status has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The active document, or null. */
  get document(): KernelDocument | null {
    return this._started ? this._document : this._first();
  }

  /** The situation of the active document. */
  get situation(): Situation {
    const context = this._context;
    if (!context) {
      return { kind: 'no-document' };
    }
    if (this._session) {
      return { kind: 'session', session: this._session };
    }
    const status = context.kernelDisplayStatus;
    if (status === 'dead') {
      return { kind: 'dead' };
    }
    return { kind: STARTING.includes(status) ? 'starting' : 'no-kernel' };
  }

  /** Starts following; before, no request is sent to any kernel. */
  start(): void {
    if (this._started) {
      return;
    }
    this._started = true;
    for (const documents of this._documents) {
      documents.currentChanged.connect(this._onCurrentChanged, this);
    }
    this._follow(this._first());
  }

  /** Follows a document if it is tracked. */
  activate(widget: unknown): void {
    const document = this._all().find(one => one === widget);
    if (document) {
      this._activated = document;
      if (this._started) {
        this._follow(document);
      }
    }
  }

  /** All documents of the page that have a kernel; the followed one comes first. */
  get all(): readonly KernelDocument[] {
    const all = this._all();
    return all.sort(
      (a, b) => Number(b === this._document) - Number(a === this._document)
    );
  }

  /** The document that an element of the page belongs to, such as an output; null if none. */
  documentAround(element: Node): KernelDocument | null {
    return this._all().find(one => one.node.contains(element)) ?? null;
  }

  private _first(): KernelDocument | null {
    const document = this._activated;
    return document && !document.isDisposed
      ? document
      : (this._documents.find(one => one.currentWidget)?.currentWidget ?? null);
  }

  private _onCurrentChanged(): void {
    const chosen = this._activated;
    if (chosen && !chosen.isDisposed && chosen === this._document) {
      return; // The current document of another kind has changed, behind the active one.
    }
    const alive = this._documents.flatMap(documents => documents.currentWidget ?? []);
    // Closing the last notebook leaves the console, if there is one.
    this._follow(alive.find(one => one !== this._document) ?? alive[0] ?? null);
  }

  private _follow(document: KernelDocument | null): void {
    if (document === this._document) {
      return;
    }
    this._document = document;
    if (this._context) {
      this._context.kernelChanged.disconnect(this._update, this);
      this._context.statusChanged.disconnect(this._update, this);
      this._context.disposed.disconnect(this._onContextDisposed, this);
    }
    const context = document?.sessionContext ?? null;
    this._context = context;
    if (context) {
      context.kernelChanged.connect(this._update, this);
      context.statusChanged.connect(this._update, this);
      context.disposed.connect(this._onContextDisposed, this);
      void context.ready.then(() => {
        if (this._context === context && !context.isDisposed) {
          this._update();
        }
      });
    }
    this._update();
  }

  private _onContextDisposed(): void {
    this._context = null;
    this._document = null;
    this._update();
  }

  private _update(): void {
    const kernel = this._context?.session?.kernel ?? null;
    this._session = kernel && !kernel.isDisposed ? this.sessionOf(kernel) : null;
    this._changed.emit();
  }

  /** The session of a kernel. */
  sessionOf(kernel: Kernel.IKernelConnection): KernelSession {
    this._noteConnection(kernel);
    const known = this._sessions.get(kernel.id);
    if (known) {
      return known;
    }
    const link = this._links.get(kernel.id) ?? new KernelLink(kernel);
    if (link.connection !== kernel) {
      link.use(kernel);
    }
    const session = new KernelSession(link);
    session.setActive(!document.hidden);
    session.onChange(() => {
      if (this._session === session) {
        this._changed.emit();
      }
    });
    this._sessions.set(kernel.id, session);
    this._links.set(kernel.id, link);
    return session;
  }

  /** Switches to another connection to the same kernel when one is closed. */
  private _noteConnection(connection: Kernel.IKernelConnection): void {
    if (this._connections.has(connection)) {
      return;
    }
    this._connections.add(connection);
    connection.disposed.connect(() => {
      const { id } = connection;
      const link = this._links.get(id);
      if (link?.connection === connection) {
        const others = this._all().flatMap(
          one => one.sessionContext.session?.kernel ?? []
        );
        const next = others.find(one => one.id === id && !one.isDisposed) ?? null;
        link.use(next);
        if (next) {
          this._noteConnection(next);
        } else {
          this._sessions.get(id)?.dispose();
          this._sessions.delete(id);
        }
      }
      this._update();
    });
  }

  private _all(): KernelDocument[] {
    const all: KernelDocument[] = [];
    for (const documents of this._documents) {
      documents.forEach(one => {
        if (!one.isDisposed) {
          all.push(one);
        }
      });
    }
    return all;
  }

  private readonly _documents: readonly Documents[];
  private readonly _sessions = new Map<string, KernelSession>();
  /** By kernel id; kept without a document, so that one opened again uses the same subshell. */
  private readonly _links = new Map<string, KernelLink>();
  private readonly _connections = new WeakSet<Kernel.IKernelConnection>();
  private readonly _changed = new Signal<this, void>(this);
  private _started = false;
  private _activated: KernelDocument | null = null;
  private _document: KernelDocument | null = null;
  private _context: ISessionContext | null = null;
  private _session: KernelSession | null = null;
}
