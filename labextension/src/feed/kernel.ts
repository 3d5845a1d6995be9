/** What a session needs of a kernel, so that it depends on no JupyterLab package. */

/** A signal, as Lumino has it. */
export interface SignalLike<S, A> {
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
  /** Resolves when messages stop waiting for running cells; never, if they always will. */
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
  createComm(target: string): CommLike;
}
