import type { Attach, Messages } from '../protocol';
import { PROTOCOL } from '../protocol';
import type { CommLike, KernelLike } from './kernel';
import { messageIn } from './messages';

/** Version of the front end; a test holds it equal to that of package.json. */
export const VERSION = '0.1.0';

/** By this the kernel knows that several comms belong to one page. */
const PAGE = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

/** How long to wait for a subshell, which a setting or an old kernel may never start. */
const SUBSHELL_MS = 1000;

/** Comms without an answer that are listened to; of more, the oldest is dropped. */
const MAX_PENDING = 8;

/** What is asked of the kernel once a comm is open. */
type Question = Exclude<Messages['to_kernel'], Attach>;

/** What attachments report. */
interface AttachmentsEvents {
  /** A message over the comm in use, which may be the first. */
  onMessage: (message: Messages['to_client'], isFirst: boolean) => void;
  /** The kernel has closed the comm in use. */
  onClose: () => void;
}

/**
 * The comms of a page to nbfn in a kernel.
 *
 * A comm is opened for each retry; the one that answered last is in use. The kernel keeps the
 * newest that has reached it.
 */
export class Attachments {
  /** Opens nothing yet. */
  constructor(kernel: KernelLike, events: AttachmentsEvents) {
    this._kernel = kernel;
    this._events = events;
  }

  /** Whether no comm has answered or may do so. */
  get isEmpty(): boolean {
    return this._current === null && this._pending.length === 0;
  }

  /** Opens a comm; again, if those before it have not answered. */
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

  /** Asks something over the comm in use. */
  ask(question: Question): void {
    this._current?.ask(question);
  }

  /** Ignores all comms from now on. */
  drop(): void {
    this._all().forEach(one => one.drop());
  }

  /** Drops all comms, and closes what the kernel still has of them. */
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
  /** The comm in use, which has answered. */
  private _current: Attachment | null = null;
  /** Those that have not answered, oldest first. */
  private _pending: Attachment[] = [];
}

/** What one attachment reports. */
interface AttachmentEvents {
  /** A message of the kernel. */
  onMessage: (message: Messages['to_client']) => void;
  /** The kernel has closed the comm. */
  onClose: () => void;
  /** The kernel has a subshell now, which came too late for this comm. */
  onSubshell: () => void;
}

/** One comm to nbfn in a kernel, from its opening until it is dropped. */
class Attachment {
  /** Opens a comm; the kernel answers with a snapshot, or refuses, unless something is lost. */
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

  /** Asks something of the kernel; what is asked before the comm is open is not sent. */
  ask(question: Question): void {
    if (this._opened && !this.isDisposed && !this._kernel.isDisposed) {
      this._comm.send(question);
    }
  }

  /** Ignores the comm from now on: what still comes from it is late. */
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
    const isBeside = await this._subshell();
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
    if (!isBeside) {
      void this._comm.subshellStarted.then(() => {
        if (!this.isDisposed) {
          this._events.onSubshell();
        }
      });
    }
  }

  /** Waits for the comm's subshell: without it, opening waits until all queued cells have run. */
  private async _subshell(): Promise<boolean> {
    if (!this._kernel.supportsSubshells) {
      return false;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = new Promise<boolean>(resolve => {
      timer = setTimeout(() => resolve(false), SUBSHELL_MS);
    });
    const started = this._comm.subshellStarted.then(() => true);
    const isBeside = await Promise.race([started, patience]);
    clearTimeout(timer);
    return isBeside;
  }

  private readonly _kernel: KernelLike;
  private readonly _events: AttachmentEvents;
  private readonly _comm: CommLike;
  private _opened = false;
  private _dropped = false;
}
