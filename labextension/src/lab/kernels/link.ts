import type { Kernel } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import type { AnyMessage, CommLike, KernelLike, MessageLike } from '../../feed/kernel';
import { RESTARTED } from '../../feed/kernel';
import { LinkComm } from './comm';
import { askControl } from './control';
import { Subshell } from './subshell';

/** What is asked of a kernel before anything else. */
interface KernelInfo {
  readonly language_info: { readonly name: string };
  readonly supported_features?: readonly string[];
}

/** How long an idle kernel takes at most to say what it is; a busy one is asked otherwise. */
const PATIENCE_MS = 500;

/** How long it is waited at most before a kernel is asked once more. */
const MAX_PATIENCE_MS = 16000;

/**
 * A kernel, over whichever connection of the page still lives.
 *
 * Each notebook and console has its own connection. All hear the same, so when one is closed the
 * link goes on with another.
 */
export class KernelLink implements KernelLike {
  /** Links to a kernel over a connection to it. */
  constructor(connection: Kernel.IKernelConnection) {
    this.id = connection.id;
    this._listen(connection);
    this.info = this._ask(connection.info);
    this.info.then(
      info => (this._features = info.supported_features ?? []),
      () => undefined
    );
  }

  /** Id of the kernel. */
  readonly id: string;

  /** What the kernel says of itself. */
  readonly info: Promise<KernelInfo>;

  readonly statusChanged = new Signal<this, string>(this);
  readonly connectionStatusChanged = new Signal<this, string>(this);
  readonly anyMessage = new Signal<this, AnyMessage>(this);

  /** The connection that is used now, or null if none is left. */
  get connection(): Kernel.IKernelConnection | null {
    return this._connection;
  }

  /** Whether no connection is left. */
  get isDisposed(): boolean {
    return this._connection?.isDisposed ?? true;
  }

  /** What the kernel does, as JupyterLab knows it. */
  get status(): string {
    return this._connection?.status ?? 'dead';
  }

  /** Whether the page can speak with the kernel. */
  get connectionStatus(): string {
    return this._connection?.connectionStatus ?? 'disconnected';
  }

  /** Whether messages can be handled beside running cells, if the user has not forbidden it. */
  get supportsSubshells(): boolean {
    const setting: string | undefined = this._connection?.commsOverSubshells;
    return setting !== 'disabled' && this._features.includes('kernel subshells');
  }

  /** The kernel's subshell for this page, or null if it can have none. */
  get subshell(): Subshell | null {
    return this.supportsSubshells ? this._subshell : null;
  }

  /** Ends the kernel's subshell for this page. */
  endSubshell(): void {
    this._subshell.end();
  }

  /** Goes on with another connection to the same kernel, or with none. */
  use(connection: Kernel.IKernelConnection | null): void {
    const old = this._connection;
    if (old) {
      old.statusChanged.disconnect(this._onStatus, this);
      old.connectionStatusChanged.disconnect(this._onConnectionStatus, this);
      old.anyMessage.disconnect(this._onMessage, this);
    }
    this._connection = null;
    if (connection) {
      this._listen(connection);
      this.statusChanged.emit(connection.status);
      // What is missed between two connections is asked for, as after a loss of the network.
      this.connectionStatusChanged.emit(connection.connectionStatus);
    }
  }

  /** Asks which comms there are, also of a kernel that runs a cell. */
  requestCommInfo(content: { target_name: string }): Promise<MessageLike> {
    const connection = this._connection;
    if (!connection) {
      return Promise.reject(new Error('There is no connection.'));
    }
    // A kernel whose last answer is still to come is not as idle as it seems.
    const isIdle = connection.status === 'idle' && this._questions === 0;
    this._questions += 1;
    const reply = isIdle
      ? connection.requestCommInfo(content)
      : Promise.any([
          askControl(connection, 'comm_info_request', content),
          connection.requestCommInfo(content)
        ]);
    return reply.then(answer => {
      this._questions = 0;
      return answer;
    });
  }

  /** Makes a comm to a target in the kernel; again, if the one before has had no answer. */
  createComm(target: string, isAgain: boolean): CommLike {
    this.subshell?.start(isAgain);
    return new LinkComm(this, target);
  }

  private _listen(connection: Kernel.IKernelConnection): void {
    this._connection = connection;
    connection.statusChanged.connect(this._onStatus, this);
    connection.connectionStatusChanged.connect(this._onConnectionStatus, this);
    connection.anyMessage.connect(this._onMessage, this);
  }

  /** Waits for a kernel to say what it is, and asks it as long as it does not. */
  private async _ask(info: Promise<KernelInfo>): Promise<KernelInfo> {
    const answers = [info];
    for (let patience = PATIENCE_MS; ;) {
      const connection = await this._connected();
      const waiting = wait(patience);
      const answer = await Promise.race([
        Promise.any(answers).catch(() => waiting),
        waiting
      ]);
      if (answer) {
        return answer;
      }
      answers.push(askInfo(connection));
      patience = Math.min(2 * patience, MAX_PATIENCE_MS);
    }
  }

  /** Resolves when the page can speak with the kernel; a question sent before would be refused. */
  private _connected(): Promise<Kernel.IKernelConnection> {
    return new Promise(resolve => {
      const look = (): void => {
        const connection = this._connection;
        if (connection?.connectionStatus === 'connected') {
          this.connectionStatusChanged.disconnect(look);
          resolve(connection);
        }
      };
      this.connectionStatusChanged.connect(look);
      look();
    });
  }

  private _onStatus(_: unknown, status: string): void {
    if (RESTARTED.includes(status)) {
      this._subshell.forget();
      this._questions = 0;
    }
    this.statusChanged.emit(status);
  }

  private _onConnectionStatus(_: unknown, status: string): void {
    this.connectionStatusChanged.emit(status);
  }

  private _onMessage(_: unknown, args: AnyMessage): void {
    this.anyMessage.emit(args);
  }

  private _connection: Kernel.IKernelConnection | null = null;
  private readonly _subshell = new Subshell(() => this._connection);
  private _features: readonly string[] = [];
  private _questions = 0;
}

async function wait(milliseconds: number): Promise<null> {
  await new Promise(resolve => setTimeout(resolve, milliseconds));
  return null;
}

async function askInfo(connection: Kernel.IKernelConnection): Promise<KernelInfo> {
  const { content } = await askControl(connection, 'kernel_info_request', {});
  if (!isInfo(content)) {
    throw new Error('The kernel has not sent its version yet.');
  }
  return content;
}

function isInfo(content: unknown): content is KernelInfo {
  const { language_info: language } = content as Partial<KernelInfo>;
  return typeof language?.name === 'string';
}
