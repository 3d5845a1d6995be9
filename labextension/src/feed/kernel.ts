/** What a session needs of a kernel, so that it depends on no JupyterLab package. */

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
  /** Hears nothing any more. */
  dispose(): void;
}

/** What a connection's `anyMessage` signal carries. */
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
  /** Makes a comm; again, if messages to the one before have had no answer. */
  createComm(target: string, isAgain: boolean): CommLike;
}

/** In these a kernel has lost its comms and subshells. */
export const RESTARTED: readonly string[] = ['restarting', 'autorestarting', 'dead'];
