import type { Attach, Messages } from '../protocol';
import { PROTOCOL } from '../protocol';
import type { CommLike, KernelLike } from './kernel';
import { messageIn } from './messages';

/** Version of the front end; a test holds it equal to that of package.json. */
export const VERSION = '0.1.0';

/** How long to wait for a subshell, which a setting or an old kernel may never start. */
const SUBSHELL_MS = 1000;

/** What an attachment reports. */
export interface AttachmentEvents {
  /** A message of the kernel. */
  onMessage: (message: Messages['to_client']) => void;
  /** The kernel has closed the comm. */
  onClose: () => void;
}

/** One open comm to nbfn in a kernel, from its opening until it is dropped. */
export class Attachment {
  /** Opens a comm; the kernel answers with a snapshot, or refuses. */
  constructor(kernel: KernelLike, events: AttachmentEvents) {
    this._kernel = kernel;
    this._comm = kernel.createComm('nbfn');
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

  /** Whether the comm is gone, such as after a restart of the kernel. */
  get isDisposed(): boolean {
    return this._dropped || this._comm.isDisposed;
  }

  /** Asks something of the kernel; what is asked before the comm is open is not sent. */
  ask(question: Exclude<Messages['to_kernel'], Attach>): void {
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
    await this._subshell();
    if (!this.isDisposed && !this._kernel.isDisposed) {
      this._opened = true;
      this._comm.open({
        type: 'attach',
        protocol: PROTOCOL,
        nbfn: VERSION
      } satisfies Attach);
    }
  }

  /** Waits for the comm's subshell: without it, opening waits until all queued cells have run. */
  private async _subshell(): Promise<void> {
    if (this._kernel.supportsSubshells) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise<void>(resolve => {
        timer = setTimeout(resolve, SUBSHELL_MS);
      });
      await Promise.race([this._comm.subshellStarted, patience]).catch(() => undefined);
      clearTimeout(timer);
    }
  }

  private readonly _kernel: KernelLike;
  private readonly _comm: CommLike;
  private _opened = false;
  private _dropped = false;
}
