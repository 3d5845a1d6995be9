/** The interface of a kernel that a session needs, so that it depends on no JupyterLab package. */

/** The state of the connection between the page and nbfn in a kernel. */
export type SessionStatus =
  /** The kernel is starting or restarting. */
  | { kind: 'starting' }
  /** The kernel has not answered yet, because it is busy. */
  | { kind: 'waiting' }
  | { kind: 'dead' }
  /** The kernel does not run Python. */
  | { kind: 'foreign'; language: string }
  /** The kernel has not loaded nbfn. */
  | { kind: 'absent' }
  /** The kernel and the page have different protocol versions. */
  | { kind: 'refused'; nbfn: string; protocol: number }
  | { kind: 'attached' };

/** A signal, as Lumino has it. */
interface SignalLike<S, A> {
  connect(slot: (sender: S, args: A) => void, thisArg?: object): boolean;
  disconnect(slot: (sender: S, args: A) => void, thisArg?: object): boolean;
}

/** A message of the kernel. */
export interface MessageLike {
  readonly header: { readonly msg_type: string; readonly msg_id?: string };
  readonly parent_header: object;
  readonly metadata?: object;
  readonly content: unknown;
}

/** A comm. */
export interface CommLike {
  readonly isDisposed: boolean;
  /** Resolves when messages need not wait for running cells; never, if they always will. */
  readonly subshellStarted: Promise<void>;
  onMsg: (message: MessageLike) => void;
  onClose: (message: MessageLike) => void;
  open(data: object): unknown;
  send(data: object): unknown;
  close(): unknown;
  /** Stops receiving messages. */
  dispose(): void;
}

/** The argument of a connection's `anyMessage` signal. */
export interface AnyMessage {
  readonly msg: MessageLike;
  readonly direction: string;
}

/** A kernel. */
export interface KernelLike {
  readonly id: string;
  readonly status: string;
  readonly connectionStatus: string;
  readonly isDisposed: boolean;
  readonly supportsSubshells: boolean;
  readonly info: Promise<{ readonly language_info: { readonly name: string } }>;
  readonly statusChanged: SignalLike<this, string>;
  readonly connectionStatusChanged: SignalLike<this, string>;
  readonly anyMessage: SignalLike<this, AnyMessage>;
  requestCommInfo(content: { target_name?: string }): Promise<MessageLike>;
  /** Creates a comm; `isAgain` if messages over the previous one were not answered. */
  createComm(target: string, isAgain: boolean): CommLike;
}

/** The statuses in which a kernel has lost its comms and subshells. */
export const RESTARTED: readonly string[] = ['restarting', 'autorestarting', 'dead'];
