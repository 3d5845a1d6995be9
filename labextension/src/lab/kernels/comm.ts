import type { Kernel } from '@jupyterlab/services';
import { KernelMessage } from '@jupyterlab/services';
import { UUID } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { AnyMessage, CommLike, MessageLike } from '../../feed/kernel';
import type { Subshell } from './subshell';

/** The part of a `KernelLink` that a comm needs. */
interface Link {
  readonly connection: Kernel.IKernelConnection | null;
  /** The kernel's subshell, or null if unsupported. */
  readonly subshell: Subshell | null;
  readonly anyMessage: ISignal<unknown, AnyMessage>;
}

/**
 * A comm over a link.
 *
 * JupyterLab's own comms belong to the first connection of the page to a kernel, and end when its
 * notebook is closed, although another notebook may use the same kernel. They have no subshell
 * until the kernel has answered a request that waits behind running cells.
 */
export class LinkComm implements CommLike {
  /** Creates a comm that is not open yet. */
  constructor(link: Link, target: string) {
    this._link = link;
    this._target = target;
    link.anyMessage.connect(this._onMessage, this);
    this.subshellStarted = link.subshell?.started ?? new Promise(() => undefined);
  }

  /** Resolves when messages need not wait for running cells. */
  readonly subshellStarted: Promise<void>;

  onMsg: (message: MessageLike) => void = () => undefined;
  onClose: (message: MessageLike) => void = () => undefined;

  /** Whether the comm is disposed. */
  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Opens the comm in the kernel. */
  open(data: object): void {
    // Later messages use the same subshell, so that none arrives before the comm is open.
    this._subshell = this._link.subshell?.use() ?? null;
    this._send('comm_open', { target_name: this._target, data });
  }

  /** Sends a message. */
  send(data: object): void {
    this._send('comm_msg', { data });
  }

  /** Closes the comm in the kernel. */
  close(): void {
    this._send('comm_close', { data: {} });
    this.dispose();
  }

  /** Stops receiving messages. */
  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._link.anyMessage.disconnect(this._onMessage, this);
    }
  }

  private _send(
    msgType: 'comm_open' | 'comm_msg' | 'comm_close',
    content: object
  ): void {
    const { connection } = this._link;
    if (!connection || connection.isDisposed) {
      return;
    }
    const message = KernelMessage.createMessage({
      // JupyterLab's types differ, but all three are sent in the same way.
      msgType: msgType as 'comm_msg',
      channel: 'shell',
      username: connection.username,
      session: connection.clientId,
      subshellId: this._subshell,
      content: { comm_id: this._id, ...content } as KernelMessage.ICommMsgMsg['content']
    });
    try {
      connection.sendShellMessage(message, false, true).done.catch(
        () => undefined // The kernel has ended.
      );
    } catch {
      // A message that cannot be sent is lost, as any message may be.
    }
  }

  private _onMessage(_: unknown, { msg, direction }: AnyMessage): void {
    const { comm_id: id } = (msg.content ?? {}) as { comm_id?: unknown };
    if (direction !== 'recv' || id !== this._id) {
      return;
    }
    if (msg.header.msg_type === 'comm_msg') {
      this._link.subshell?.answered(this._subshell);
      this.onMsg(msg);
    } else if (msg.header.msg_type === 'comm_close') {
      this.dispose();
      this.onClose(msg);
    }
  }

  private readonly _id = UUID.uuid4();
  private readonly _link: Link;
  private readonly _target: string;
  private _subshell: string | null = null;
  private _isDisposed = false;
}
