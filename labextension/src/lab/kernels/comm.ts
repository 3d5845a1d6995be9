import type { Kernel } from '@jupyterlab/services';
import { KernelMessage } from '@jupyterlab/services';
import { UUID } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { AnyMessage, CommLike, MessageLike } from '../../feed/kernel';
import { askControl } from './control';

/** The way to a kernel. */
interface Link {
  readonly connection: Kernel.IKernelConnection | null;
  readonly supportsSubshells: boolean;
  readonly anyMessage: ISignal<unknown, AnyMessage>;
}

/** In these a kernel still has its subshells. */
const ALIVE: readonly string[] = ['idle', 'busy'];

/**
 * A comm over a link.
 *
 * JupyterLab's own comms belong to one connection, the first of the page to a kernel, and end when
 * its notebook is closed although another may show the same kernel; and they have no subshell
 * before the kernel has answered a question that waits behind running cells.
 */
export class LinkComm implements CommLike {
  /** Makes a comm that is not open yet. */
  constructor(link: Link, target: string) {
    this._link = link;
    this._target = target;
    link.anyMessage.connect(this._onMessage, this);
    this.subshellStarted = link.supportsSubshells
      ? this._startSubshell()
      : new Promise(() => undefined);
  }

  /** Resolves when messages stop waiting for running cells. */
  readonly subshellStarted: Promise<void>;

  onMsg: (message: MessageLike) => void = () => undefined;
  onClose: (message: MessageLike) => void = () => undefined;

  /** Whether nothing is heard any more. */
  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Opens the comm in the kernel. */
  open(data: object): void {
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

  /** Hears nothing any more. */
  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._link.anyMessage.disconnect(this._onMessage, this);
    if (this._subshell !== null) {
      this._endSubshell(this._subshell);
    }
  }

  private async _startSubshell(): Promise<void> {
    const { connection } = this._link;
    if (!connection) {
      return;
    }
    const { content } = await askControl(connection, 'create_subshell_request', {});
    const id = (content as { subshell_id?: unknown }).subshell_id;
    if (typeof id !== 'string') {
      throw new Error('The kernel has started no subshell.');
    }
    if (this._isDisposed) {
      this._endSubshell(id);
    } else {
      this._subshell = id;
    }
  }

  private _endSubshell(id: string): void {
    const { connection } = this._link;
    if (connection && !connection.isDisposed && ALIVE.includes(connection.status)) {
      askControl(connection, 'delete_subshell_request', { subshell_id: id }).catch(
        () => undefined // The kernel went away, and the subshell with it.
      );
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
      msgType: 'comm_msg',
      channel: 'shell',
      username: connection.username,
      session: connection.clientId,
      subshellId: this._subshell,
      content: { comm_id: this._id, data: {} }
    });
    const sent = {
      ...message,
      header: { ...message.header, msg_type: msgType },
      content: { comm_id: this._id, ...content }
    } as unknown as KernelMessage.ICommMsgMsg<'shell'>;
    connection.sendShellMessage(sent, false, true).done.catch(
      () => undefined // The kernel went away.
    );
  }

  private _onMessage(_: unknown, { msg, direction }: AnyMessage): void {
    const { comm_id: id } = (msg.content ?? {}) as { comm_id?: unknown };
    if (direction !== 'recv' || id !== this._id) {
      return;
    }
    if (msg.header.msg_type === 'comm_msg') {
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
