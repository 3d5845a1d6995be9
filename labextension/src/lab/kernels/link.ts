import type { Kernel } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import type { AnyMessage, CommLike, KernelLike, MessageLike } from '../../feed/kernel';
import { RESTARTED } from '../../feed/kernel';
import { LinkComm } from './comm';
import { askControl } from './control';
import { Subshell } from './subshell';

/** The kernel's description of itself, which is requested first. */
interface KernelInfo {
  readonly language_info: { readonly name: string };
  readonly supported_features?: readonly string[];
}

/** Maximum time in which an idle kernel sends its info; a busy one is asked on the control channel. */
const TIMEOUT_MS = 500;

/** Maximum time before a kernel is asked again. */
const MAX_TIMEOUT_MS = 16000;

/**
 * A kernel, over any open connection of the page.
 *
 * Each notebook and console has its own connection, and all receive the same messages. When one is
 * closed, the link switches to another.
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

  /** The kernel's description of itself. */
  readonly info: Promise<KernelInfo>;

  readonly statusChanged = new Signal<this, string>(this);
  readonly connectionStatusChanged = new Signal<this, string>(this);
  readonly anyMessage = new Signal<this, AnyMessage>(this);

  /** The current connection, or null if none is left. */
  get connection(): Kernel.IKernelConnection | null {
    return this._connection;
  }

  /** Whether no connection is left. */
  get isDisposed(): boolean {
    return this._connection?.isDisposed ?? true;
  }

  /** The kernel's status in JupyterLab. */
  get status(): string {
    return this._connection?.status ?? 'dead';
  }

  /** The status of the connection. */
  get connectionStatus(): string {
    return this._connection?.connectionStatus ?? 'disconnected';
  }

  /** Whether the kernel can handle messages while cells run, unless the user's setting forbids it. */
  get supportsSubshells(): boolean {
    const setting: string | undefined = this._connection?.commsOverSubshells;
    return setting !== 'disabled' && this._features.includes('kernel subshells');
  }

  /** The kernel's subshell for this page, or null if unsupported. */
  get subshell(): Subshell | null {
    return this.supportsSubshells ? this._subshell : null;
  }

  /** Ends the kernel's subshell for this page. */
  endSubshell(): void {
    this._subshell.end();
  }

  /** Switches to another connection to the same kernel, or to none. */
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
      // Messages missed between two connections are requested, as after a network failure.
      this.connectionStatusChanged.emit(connection.connectionStatus);
    }
  }

  /** Requests the list of comms, also while the kernel runs a cell. */
  requestCommInfo(content: { target_name: string }): Promise<MessageLike> {
    const connection = this._connection;
    if (!connection) {
      return Promise.reject(new Error('There is no connection.'));
    }
    // A kernel that has not answered the last request is not idle, whatever its status.
    const isIdle = connection.status === 'idle' && this._unanswered === 0;
    this._unanswered += 1;
    const reply = isIdle
      ? connection.requestCommInfo(content)
      : Promise.any([
          askControl(connection, 'comm_info_request', content),
          connection.requestCommInfo(content)
        ]);
    return reply.then(answer => {
      this._unanswered = 0;
      return answer;
    });
  }

  /** Creates a comm to a target in the kernel; `isAgain` if the previous one was not answered. */
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

  /** Waits for the kernel's info, and requests it repeatedly. */
  private async _ask(info: Promise<KernelInfo>): Promise<KernelInfo> {
    const answers = [info];
    for (let timeout = TIMEOUT_MS; ;) {
      const connection = await this._connected();
      const waiting = wait(timeout);
      const answer = await Promise.race([
        Promise.any(answers).catch(() => waiting),
        waiting
      ]);
      if (answer) {
        return answer;
      }
      answers.push(askInfo(connection));
      timeout = Math.min(2 * timeout, MAX_TIMEOUT_MS);
    }
  }

  /** Resolves when the kernel is connected; an earlier request would be refused. */
  private _connected(): Promise<Kernel.IKernelConnection> {
    return new Promise(resolve => {
      const check = (): void => {
        const connection = this._connection;
        if (connection?.connectionStatus === 'connected') {
          this.connectionStatusChanged.disconnect(check);
          resolve(connection);
        }
      };
      this.connectionStatusChanged.connect(check);
      check();
    });
  }

  private _onStatus(_: unknown, status: string): void {
    if (RESTARTED.includes(status)) {
      this._subshell.forget();
      this._unanswered = 0;
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
  private _unanswered = 0;
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
