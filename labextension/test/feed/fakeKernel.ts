import { expect } from 'vitest';
import { VERSION } from '../../src/feed/attachment';
import type {
  AnyMessage,
  CommLike,
  KernelLike,
  MessageLike
} from '../../src/feed/kernel';
import { KernelSession } from '../../src/feed/session';
import { PROTOCOL } from '../../src/protocol';
import { fn, snapshot, table } from '../records';

type Slot<S, A> = (sender: S, args: A) => void;

/** A signal, as Lumino's behaves. */
class FakeSignal<S, A> {
  constructor(private readonly sender: S) {}

  readonly slots: { slot: Slot<S, A>; thisArg: object | undefined }[] = [];

  connect(slot: Slot<S, A>, thisArg?: object): boolean {
    this.slots.push({ slot, thisArg });
    return true;
  }

  disconnect(slot: Slot<S, A>, thisArg?: object): boolean {
    const index = this.slots.findIndex(
      one => one.slot === slot && one.thisArg === thisArg
    );
    this.slots.splice(index, index < 0 ? 0 : 1);
    return index >= 0;
  }

  emit(args: A): void {
    for (const { slot, thisArg } of [...this.slots]) {
      slot.call(thisArg, this.sender, args);
    }
  }
}

/** The page's end of a comm of a fake kernel. */
class FakeComm implements CommLike {
  constructor(
    readonly target: string,
    readonly isAgain: boolean,
    readonly subshellStarted: Promise<void>
  ) {}

  isDisposed = false;
  readonly sent: object[] = [];
  onMsg: (message: MessageLike) => void = () => undefined;
  onClose: (message: MessageLike) => void = () => undefined;

  open(data: object): void {
    this.sent.push({ how: 'open', ...data });
  }

  send(data: object): void {
    this.sent.push({ how: 'send', ...data });
  }

  close(): void {
    this.isDisposed = true;
    this.sent.push({ how: 'close' });
  }

  dispose(): void {
    this.isDisposed = true;
  }

  /** Delivers a message of the kernel. */
  deliver(data: object): void {
    this.onMsg(message('comm_msg', { data }));
  }

  /** Closes the comm as the kernel does. */
  closeByKernel(): void {
    this.isDisposed = true;
    this.onClose(message('comm_close', { data: {} }));
  }
}

const REQUEST = { msg_type: 'execute_request', msg_id: 'request-1' };

/** A kernel that does what the test says. */
export class FakeKernel implements KernelLike {
  constructor(readonly language = 'python') {
    this.info = Promise.resolve({ language_info: { name: language } });
  }

  readonly id = 'kernel-1';
  readonly info: Promise<{ language_info: { name: string } }>;
  status = 'idle';
  connectionStatus = 'connected';
  isDisposed = false;
  supportsSubshells = false;
  /** Whether nbfn is loaded in the kernel. */
  loaded = false;
  /** Whether a cell is running, so that questions wait. */
  busy = false;
  /** Whether questions to it get lost. */
  isDeaf = false;
  questions = 0;
  readonly comms: FakeComm[] = [];
  readonly statusChanged = new FakeSignal<this, string>(this);
  readonly connectionStatusChanged = new FakeSignal<this, string>(this);
  readonly anyMessage = new FakeSignal<this, AnyMessage>(this);
  startSubshell: () => void = () => undefined;
  private readonly _subshell = new Promise<void>(resolve => {
    this.startSubshell = resolve;
  });
  private _waiting: (() => void)[] = [];

  requestCommInfo(): Promise<MessageLike> {
    this.questions += 1;
    return new Promise((resolve, reject) => {
      if (this.isDeaf) return;
      const answer = () => {
        if (this.status === 'restarting') {
          reject(new Error('Canceled'));
        } else {
          const comms = this.loaded ? { c1: { target_name: 'nbfn.presence' } } : {};
          resolve(message('comm_info_reply', { status: 'ok', comms }));
        }
      };
      if (this.busy) {
        this._waiting.push(answer);
      } else {
        answer();
      }
    });
  }

  createComm(target: string, isAgain: boolean): FakeComm {
    const comm = new FakeComm(target, isAgain, this._subshell);
    this.comms.push(comm);
    return comm;
  }

  /** The newest comm. */
  get comm(): FakeComm {
    const comm = this.comms.at(-1);
    if (!comm) throw new Error('no comm was created');
    return comm;
  }

  setStatus(status: string): void {
    this.status = status;
    if (status === 'restarting') {
      for (const comm of this.comms) comm.isDisposed = true;
      this.release();
    }
    this.statusChanged.emit(status);
  }

  /** Begins to run a cell, `In [7]`, and tells of it. */
  startCell(): void {
    const content = { execution_count: 7, code: 'step(x)' };
    this.receive(message('execute_input', content, REQUEST));
  }

  /** Runs a cell to its end. */
  runCell(): void {
    this.release();
    this.receive(message('status', { execution_state: 'idle' }, REQUEST));
  }

  receive(msg: MessageLike): void {
    this.anyMessage.emit({ msg, direction: 'recv' });
  }

  /** Answers the oldest question that waits. */
  answerOldest(): void {
    this._waiting.shift()?.();
  }

  /** Ends what made the kernel busy. */
  release(): void {
    this.busy = false;
    for (const answer of this._waiting.splice(0)) answer();
  }
}

/** A message of a kernel. */
export function message(
  msg_type: string,
  content: object,
  parent_header: object = {}
): MessageLike {
  return { header: { msg_type }, parent_header, content };
}

/** Lets promises settle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    await Promise.resolve();
  }
}

/** What a page sends when it opens a comm. */
export const ATTACH = {
  how: 'open',
  type: 'attach',
  protocol: PROTOCOL,
  nbfn: VERSION,
  page: expect.any(String) as string
};

/** A session that has the state of its kernel. */
export async function attached() {
  const kernel = new FakeKernel();
  kernel.loaded = true;
  const session = new KernelSession(kernel);
  await settle();
  const comm = kernel.comm;
  comm.deliver(snapshot({ functions: table(fn()) }));
  return { kernel, session, comm };
}
