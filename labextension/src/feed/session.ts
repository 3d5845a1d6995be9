import type { Messages, Refused } from '../protocol';
import { PROTOCOL } from '../protocol';
import { Attachment } from './attachment';
import type { AnyMessage, KernelLike, MessageLike } from './kernel';
import { Listeners } from './listeners';
import { isCellEnd, isPresence, listsComms } from './messages';
import type { Running } from './running';
import { RunningCell } from './running';
import { Store } from './store';

/** How things stand between the page and a kernel. */
export type SessionStatus =
  /** The kernel is starting or restarting. */
  | { kind: 'starting' }
  /** The kernel has not yet answered: it is busy. */
  | { kind: 'waiting' }
  | { kind: 'dead' }
  /** The kernel does not run Python. */
  | { kind: 'foreign'; language: string }
  /** The kernel has not loaded nbfn. */
  | { kind: 'absent' }
  /** The kernel and the page speak different protocols. */
  | { kind: 'refused'; nbfn: string; protocol: number }
  | { kind: 'attached' };

const RESTARTED: readonly string[] = ['restarting', 'autorestarting', 'dead'];
const UNREADY: readonly string[] = [...RESTARTED, 'starting', 'terminating'];

/**
 * What the page knows of one kernel: finds out whether nbfn is loaded, attaches to it,
 * and feeds the store.
 *
 * It asks the kernel for nbfn's presence comm when the kernel gets ready and after each cell,
 * for as long as it is not attached. A kernel without nbfn sees only that standard question.
 */
export class KernelSession {
  /** Starts to follow the kernel. */
  constructor(kernel: KernelLike) {
    this.kernel = kernel;
    this.store = new Store({
      requestSnapshot: () => this._attachment?.ask({ type: 'request_snapshot' }),
      requestDetails: id =>
        this._attachment?.ask({ type: 'request_details', function: id })
    });
    kernel.statusChanged.connect(this._onStatus, this);
    kernel.connectionStatusChanged.connect(this._onConnection, this);
    kernel.anyMessage.connect(this._onMessage, this);
    kernel.info.then(
      info => {
        this._language = info.language_info.name;
        this._ask();
        this._changed();
      },
      () => undefined // The kernel went away before it was ready: its status says so.
    );
  }

  /** The kernel that this session follows. */
  readonly kernel: KernelLike;

  /** What the kernel has told. */
  readonly store: Store;

  /** How things stand, read from the kernel each time. */
  get status(): SessionStatus {
    const { kernel } = this;
    if (kernel.isDisposed || kernel.status === 'dead') {
      return { kind: 'dead' };
    }
    if (UNREADY.includes(kernel.status) || this._language === null) {
      return { kind: 'starting' };
    }
    if (this._language !== 'python') {
      return { kind: 'foreign', language: this._language };
    }
    if (this._refused) {
      const { nbfn, protocol } = this._refused;
      return { kind: 'refused', nbfn, protocol };
    }
    if (this.store.state) {
      return { kind: 'attached' };
    }
    return { kind: this._answered && !this._attachment ? 'absent' : 'waiting' };
  }

  /** The cell that the kernel runs, or null. */
  get running(): Running | null {
    return this._running.value;
  }

  /** Whether the session is over: its kernel is gone. */
  get hasEnded(): boolean {
    return this._isDisposed;
  }

  /** Calls the listener when the status may have changed, until the returned function is called. */
  onChange(listener: () => void): () => void {
    return this._listeners.add(listener);
  }

  /** Says whether anybody sees the page; the kernel sends nothing while nobody does. */
  setActive(active: boolean): void {
    if (active !== this._active) {
      this._active = active;
      this._attachment?.ask({ type: 'watch', active });
    }
  }

  /** Lets go of the kernel; the comm is closed if the kernel still lives. */
  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    const { kernel } = this;
    kernel.statusChanged.disconnect(this._onStatus, this);
    kernel.connectionStatusChanged.disconnect(this._onConnection, this);
    kernel.anyMessage.disconnect(this._onMessage, this);
    this._attachment?.close();
    this._forget();
    this._changed();
    this._listeners.clear();
  }

  private _onStatus(): void {
    if (RESTARTED.includes(this.kernel.status)) {
      this.store.end();
      this._forget();
      this._running.forget();
      this._answered = false;
    } else if (!this._answered) {
      this._ask();
    }
    this._changed();
  }

  private _onConnection(): void {
    if (this.kernel.connectionStatus === 'connected') {
      if (this._attachment?.isDisposed) {
        this._forget();
      }
      // Whatever was sent while the connection was down is lost.
      this._attachment?.ask({ type: 'request_snapshot' });
      this._ask();
    }
    this._changed();
  }

  private _onMessage(_: KernelLike, { msg, direction }: AnyMessage): void {
    if (this._running.receive(msg, direction)) {
      this._changed();
    }
    if (direction !== 'recv') {
      return;
    }
    if (isPresence(msg)) {
      this._attach();
    } else if (isCellEnd(msg)) {
      this._ask();
    }
  }

  /** Asks whether nbfn is loaded, unless that is known or already asked. */
  private _ask(): void {
    if (this._attachment || this._question || !this._isReady) {
      return;
    }
    const question = this.kernel.requestCommInfo({ target_name: 'nbfn.presence' });
    this._question = question;
    question.then(
      reply => {
        // Another question, or none, means that the kernel has restarted since.
        if (this._question === question) {
          this._question = null;
          this._answered = true;
          if (listsComms(reply)) {
            this._attach();
          }
          this._changed();
        }
      },
      () => {
        if (this._question === question) {
          this._question = null;
        }
      }
    );
  }

  private get _isReady(): boolean {
    const { kernel } = this;
    return (
      !this._isDisposed &&
      !kernel.isDisposed &&
      this._language === 'python' &&
      !UNREADY.includes(kernel.status)
    );
  }

  private _attach(): void {
    if (this._attachment || !this._isReady) {
      return;
    }
    this._attachment = new Attachment(this.kernel, {
      onMessage: message => this._receive(message),
      onClose: () => {
        // A refusal stays true after its comm is closed; asking again would change nothing.
        if (!this._refused) {
          this._forget();
          this._changed();
        }
      }
    });
  }

  private _receive(message: Messages['to_client']): void {
    if (message.type === 'refused') {
      this._refuse(message);
    } else if (message.type === 'snapshot' && message.protocol !== PROTOCOL) {
      this._refuse(message);
    } else {
      const first = this.store.state === null;
      this.store.receive(message);
      if (first) {
        if (!this._active) {
          this._attachment?.ask({ type: 'watch', active: false });
        }
        this._changed();
      }
    }
  }

  private _refuse(refused: Pick<Refused, 'nbfn' | 'protocol'>): void {
    this._refused = refused;
    this.store.forget();
    this._changed();
  }

  private _forget(): void {
    this._attachment?.drop();
    this._attachment = null;
    this._question = null;
    this._refused = null;
    this.store.forget();
  }

  private _changed(): void {
    this._listeners.tell();
  }

  private _active = true;
  private _isDisposed = false;
  private _language: string | null = null;
  private _answered = false;
  private _question: Promise<MessageLike> | null = null;
  private _attachment: Attachment | null = null;
  private _refused: Pick<Refused, 'nbfn' | 'protocol'> | null = null;
  private readonly _running = new RunningCell();
  private readonly _listeners = new Listeners();
}
