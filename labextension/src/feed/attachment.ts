import type { Attach, Messages } from '../protocol';
import { PROTOCOL } from '../protocol';
import type { CommLike, KernelLike } from './kernel';
import { messageIn } from './messages';

/** Version of the front end; a test compares it with that of package.json. */
export const VERSION = '0.1.0';

/** Identifies the page, so that the kernel knows which comms belong to one page. */
// Not `crypto.randomUUID`, which exists only on secure pages: a server may be reached by http.
const PAGE = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

/** Maximum time to wait for a subshell; a setting or an old kernel may never start one. */
const SUBSHELL_MS = 1000;

/** Maximum number of unanswered comms; beyond it, the oldest is dropped. */
const MAX_PENDING = 8;

/** A request to the kernel over an open comm. */
type Request = Exclude<Messages['to_kernel'], Attach>;

/** Callbacks of `Attachments`. */
interface AttachmentsEvents {
  /** A message has arrived over the current comm; `isFirst` if it is the first over this comm. */
  onMessage: (message: Messages['to_client'], isFirst: boolean) => void;
  /** The kernel has closed the current comm. */
  onClose: () => void;
}

/**
 * The comms of a page to nbfn in a kernel.
 *
 * Each retry opens a comm; the one that answered last is the current one. The kernel keeps the
 * newest that has reached it.
 */
export class Attachments {
  /** Opens nothing yet. */
  constructor(kernel: KernelLike, events: AttachmentsEvents) {
    this._kernel = kernel;
    this._events = events;
  }

  /** Whether there is neither a current comm nor one that may still answer. */
  get isEmpty(): boolean {
    return this._current === null && this._pending.length === 0;
  }

  /** Opens a comm; `isAgain` if earlier ones have not answered. */
  open(isAgain: boolean): void {
    const attachment: Attachment = new Attachment(this._kernel, isAgain, {
      onMessage: message => this._receive(message, attachment),
      onClose: () => this._onClosed(attachment),
      onSubshell: () => {
        if (attachment === (this._pending.at(-1) ?? this._current)) {
          this.open(false);
        }
      }
    });
    this._pending.push(attachment);
    if (this._pending.length > MAX_PENDING) {
      this._pending.shift()?.drop();
    }
  }

  /** Sends a request over the current comm. */
  ask(request: Request): void {
    this._current?.ask(request);
  }

  /** Ignores all comms from now on, without closing them. */
  drop(): void {
    this._all().forEach(one => one.drop());
  }

  /** Drops all comms, and closes those that the kernel still has. */
  close(): void {
    this._all().forEach(one => one.close());
  }

  private _receive(message: Messages['to_client'], sender: Attachment): void {
    const isFirst = sender !== this._current;
    if (isFirst) {
      this._current?.drop();
      this._current = sender;
      this._forget(sender);
    }
    this._events.onMessage(message, isFirst);
  }

  private _onClosed(closed: Attachment): void {
    this._forget(closed);
    if (closed === this._current) {
      this._events.onClose();
    }
  }

  private _forget(attachment: Attachment): void {
    this._pending = this._pending.filter(one => one !== attachment);
  }

  /** Removes and returns all attachments. */
  private _all(): Attachment[] {
    const all = [...(this._current ? [this._current] : []), ...this._pending];
    this._current = null;
    this._pending = [];
    return all;
  }

  private readonly _kernel: KernelLike;
  private readonly _events: AttachmentsEvents;
  /** The current comm, which has answered. */
  private _current: Attachment | null = null;
  /** The comms that have not answered, oldest first. */
  private _pending: Attachment[] = [];
}

/** Callbacks of one `Attachment`. */
interface AttachmentEvents {
  /** The kernel has sent a message. */
  onMessage: (message: Messages['to_client']) => void;
  /** The kernel has closed the comm. */
  onClose: () => void;
  /** The kernel has started a subshell, too late for this comm. */
  onSubshell: () => void;
}

/** One comm to nbfn in a kernel, from its opening until it is dropped. */
class Attachment {
  /** Opens a comm; the kernel answers with a snapshot or a refusal, unless a message is lost. */
  constructor(kernel: KernelLike, isAgain: boolean, events: AttachmentEvents) {
    this._kernel = kernel;
    this._events = events;
    this._comm = kernel.createComm('nbfn', isAgain);
    this._comm.onMsg = message => {
      const data = messageIn(message);
      if (data && !this._dropped) {
        events.onMessage(data);
      }
    };
    this._comm.onClose = () => {
      if (!this._dropped) {
        events.onClose();
      }
    };
    void this._open();
  }

  /** Whether the comm is closed, such as after a restart of the kernel. */
  get isDisposed(): boolean {
    return this._dropped || this._comm.isDisposed;
  }

  /** Sends a request; does nothing before the comm is open. */
  ask(request: Request): void {
    if (this._opened && !this.isDisposed && !this._kernel.isDisposed) {
      this._comm.send(request);
    }
  }

  /** Ignores the comm from now on, without closing it. */
  drop(): void {
    this._dropped = true;
    this._comm.dispose();
  }

  /** Drops the comm, and closes it if the kernel still has it. */
  close(): void {
    if (!this.isDisposed && !this._kernel.isDisposed) {
      this._comm.close();
    }
    this.drop();
  }

  private async _open(): Promise<void> {
    const hasSubshell = await this._subshell();
    if (this.isDisposed || this._kernel.isDisposed) {
      return;
    }
    this._opened = true;
    this._comm.open({
      type: 'attach',
      protocol: PROTOCOL,
      nbfn: VERSION,
      page: PAGE
    } satisfies Attach);
    if (!hasSubshell) {
      void this._comm.subshellStarted.then(() => {
        if (!this.isDisposed) {
          this._events.onSubshell();
        }
      });
    }
  }

  /**
   * Waits for the comm's subshell; returns whether it has started.
   *
   * Without a subshell, the kernel opens the comm after all queued cells.
   */
  private async _subshell(): Promise<boolean> {
    if (!this._kernel.supportsSubshells) {
      return false;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<boolean>(resolve => {
      timer = setTimeout(() => resolve(false), SUBSHELL_MS);
    });
    const started = this._comm.subshellStarted.then(() => true);
    const hasSubshell = await Promise.race([started, timeout]);
    clearTimeout(timer);
    return hasSubshell;
  }

  private readonly _kernel: KernelLike;
  private readonly _events: AttachmentEvents;
  private readonly _comm: CommLike;
  private _opened = false;
  private _dropped = false;
}
