import type { RequestOutlines, Messages, Refused, RequestSnapshot } from '../protocol';
import { PROTOCOL } from '../protocol';
import { Attachments } from './attachment';
import type { AnyMessage, KernelLike, SessionStatus } from './kernel';
import { RESTARTED } from './kernel';
import { Listeners } from './listeners';
import { isCellEnd, isPresence, listsComms } from './messages';
import { Retry } from './retry';
import type { Running } from './running';
import { RunningCell } from './running';
import { Store } from './store';

const UNREADY: readonly string[] = [...RESTARTED, 'starting', 'terminating'];

/**
 * The page's session with one kernel: detects whether nbfn is loaded, and updates the store.
 *
 * Until it is attached, it asks the kernel for nbfn's presence comm when the kernel gets ready and
 * after each cell. A kernel without nbfn receives only this standard request.
 *
 * Any message may be lost, in either direction. Missing answers are requested again, over a new
 * comm, whose first message is the whole state.
 */
export class KernelSession {
  /** Starts following the kernel. */
  constructor(kernel: KernelLike) {
    this.kernel = kernel;
    this.store = new Store({
      requestSnapshot: () => this._request({ type: 'request_snapshot' }),
      setTargets: targets => this._request({ type: 'request_outlines', targets })
    });
    this._attachments = new Attachments(kernel, {
      onMessage: (message, isFirst) => this._receive(message, isFirst),
      onClose: () => this._onClosed()
    });
    this._retry = new Retry({
      isWanted: () => this._isWaiting,
      isIdle: () => kernel.status === 'idle' && this._running.value === null,
      ask: () => this._askAgain()
    });
    kernel.statusChanged.connect(this._onStatus, this);
    kernel.connectionStatusChanged.connect(this._onConnection, this);
    kernel.anyMessage.connect(this._onMessage, this);
    kernel.info.then(
      info => {
        this._language = info.language_info.name;
        this._ask();
        this._listeners.notify();
      },
      () => undefined // The kernel ended before it was ready, as its status shows.
    );
  }

  /** The kernel that this session follows. */
  readonly kernel: KernelLike;
  /** What the kernel has sent. */
  readonly store: Store;

  /** The current status, computed from the kernel's. */
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
      return { kind: 'refused', ...this._refused };
    }
    if (this.store.state) {
      return { kind: 'attached' };
    }
    return { kind: this._isPresent === false ? 'absent' : 'waiting' };
  }

  /** The running cell, or null. */
  get running(): Running | null {
    return this._running.value;
  }

  /** Whether the session is over: its kernel has ended. */
  get hasEnded(): boolean {
    return this._isDisposed;
  }

  /** Calls the listener when the status may have changed, until the returned function is called. */
  onChange(listener: () => void): () => void {
    return this._listeners.add(listener);
  }

  /** Sets whether the page is visible; the kernel sends nothing while it is not. */
  setActive(active: boolean): void {
    if (active !== this._active) {
      this._active = active;
      if (!active) {
        this._attachments.ask({ type: 'watch', active });
      } else if (this.store.state) {
        this.store.refresh(); // after the snapshot, the kernel sends patches again
      }
    }
  }

  /** Stops following the kernel; closes the comm if the kernel still runs. */
  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    const { kernel } = this;
    kernel.statusChanged.disconnect(this._onStatus, this);
    kernel.connectionStatusChanged.disconnect(this._onConnection, this);
    kernel.anyMessage.disconnect(this._onMessage, this);
    this._retry.stop();
    this._attachments.close();
    this._forget();
    this._listeners.notify();
    this._listeners.clear();
  }

  private _onStatus(): void {
    const { status } = this.kernel;
    if (RESTARTED.includes(status)) {
      this._forget();
      this._running.forget();
    } else if (this._isPresent === null) {
      this._ask();
    }
    if (status === 'idle') {
      this._retry.hurry();
    }
    this._listeners.notify();
  }

  private _onConnection(): void {
    if (this.kernel.connectionStatus === 'connected') {
      // Messages sent while the connection was down are lost.
      if (this.store.state && this._active) {
        this.store.refresh();
      }
      this._ask();
      this._retry.restart();
    }
    this._listeners.notify();
  }

  private _onMessage(_: KernelLike, { msg, direction }: AnyMessage): void {
    const before = this.running;
    if (this._running.receive(msg, direction)) {
      if (this.running) {
        this._received = false;
      }
      this._listeners.notify();
    }
    if (direction !== 'recv') {
      return;
    }
    if (isPresence(msg)) {
      this._attach();
    } else if (isCellEnd(msg)) {
      // The kernel sends a mark at the end of each cell; without one, messages were lost.
      if (this.store.state && this._active && before?.code != null && !this._received) {
        this.store.refresh();
      }
      this._isOutdated = this._isAsked;
      this._ask();
    }
  }

  /** Requests state; retried if it is not answered. */
  private _request(request: RequestSnapshot | RequestOutlines): void {
    this._attachments.ask(request);
    this._retry.watch();
  }

  /** Whether an answer of the kernel is missing. */
  private get _isWaiting(): boolean {
    if (!this._isReady || this._refused) {
      return false;
    }
    const { state, isWaiting } = this.store;
    return this._isAsked || isWaiting || (!state && this._isPresent !== false);
  }

  /** Repeats the request whose answer is missing. */
  private _askAgain(): void {
    if (this.kernel.connectionStatus !== 'connected') {
      return; // Requested when the connection is back.
    }
    this._isAsked = false;
    if (this._isPresent && !this._attachments.isEmpty) {
      this._attachments.open(true);
    } else {
      this._isPresent &&= null;
      this._ask();
    }
  }

  /** Asks whether nbfn is loaded, unless that is known or already asked. */
  private _ask(): void {
    if (this._isPresent || this._isAsked || !this._isReady) {
      return;
    }
    this._isAsked = true;
    const asked = this._starts;
    this.kernel.requestCommInfo({ target_name: 'nbfn.presence' }).then(
      reply => {
        if (asked === this._starts) {
          this._isAsked = false;
          if (listsComms(reply)) {
            this._attach();
          } else if (this._isOutdated) {
            this._isOutdated = false;
            this._ask();
          }
          this._isPresent ??= false;
          this._listeners.notify();
        }
      },
      () => undefined // The request was lost; it is retried.
    );
    this._retry.watch();
  }

  private get _isReady(): boolean {
    const { isDisposed, status } = this.kernel;
    const isAlive = !this._isDisposed && !isDisposed && !UNREADY.includes(status);
    return isAlive && this._language === 'python';
  }

  private _attach(): void {
    if (!this._isPresent && this._isReady) {
      this._isPresent = true;
      this._attachments.open(false);
      this._retry.watch();
    }
  }

  private _onClosed(): void {
    // A refusal holds after its comm is closed, so nothing is requested again.
    if (!this._refused) {
      this._forget();
      this._isPresent = false;
      this._ask();
      this._listeners.notify();
    }
  }

  private _receive(message: Messages['to_client'], isFirst: boolean): void {
    this._received = true;
    const isOther = message.type === 'snapshot' && message.protocol !== PROTOCOL;
    if (message.type === 'refused' || isOther) {
      this._refuse(message);
      return;
    }
    this.store.receive(message);
    if (isFirst) {
      if (!this._active) {
        this._attachments.ask({ type: 'watch', active: false });
      }
      this._listeners.notify();
    }
  }

  private _refuse(refused: Pick<Refused, 'nbfn' | 'protocol'>): void {
    this._refused = { nbfn: refused.nbfn, protocol: refused.protocol };
    this.store.forget();
    this._listeners.notify();
  }

  private _forget(): void {
    this._attachments.drop();
    this._isPresent = null;
    this._isAsked = false;
    this._starts += 1;
    this._refused = null;
    this.store.forget();
  }

  private _active = true;
  private _isDisposed = false;
  private _language: string | null = null;
  /** Whether nbfn is loaded; null if unknown. */
  private _isPresent: boolean | null = null;
  private _isAsked = false;
  /** Whether a cell has ended since nbfn's presence was asked for. */
  private _isOutdated = false;
  /** Incremented when the kernel restarts: answers to earlier requests are ignored. */
  private _starts = 0;
  /** Whether a message has arrived over the current comm since the last cell began. */
  private _received = false;
  private _refused: Pick<Refused, 'nbfn' | 'protocol'> | null = null;
  private readonly _attachments: Attachments;
  private readonly _retry: Retry;
  private readonly _running = new RunningCell();
  private readonly _listeners = new Listeners();
}
