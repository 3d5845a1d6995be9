import type { Kernel } from '@jupyterlab/services';
import { PromiseDelegate } from '@lumino/coreutils';
import { askControl } from './control';

/**
 * The thread of a kernel that handles the page's messages while cells run.
 *
 * A kernel may start it late or not at all, and may end one that the page still uses.
 */
export class Subshell {
  /** Creates a subshell, without requesting it from the kernel yet. */
  constructor(connection: () => Kernel.IKernelConnection | null) {
    this._connection = connection;
  }

  /** Resolves when the kernel has started it. */
  get started(): Promise<void> {
    return this._started.promise;
  }

  /** Requests a subshell; another one if the current did not answer. */
  start(isAgain: boolean): void {
    if (this._id !== null && isAgain && this._isUsed) {
      this._stale.push(this._id);
      this._reset();
    }
    if (this._id === null) {
      this._ask().catch(() => undefined); // The waiting caller retries.
    }
  }

  /** Returns the id to send a message with; null if messages wait for running cells. */
  use(): string | null {
    this._isUsed = true;
    return this._id;
  }

  /** Notes that a subshell has answered: ends earlier ones, which did not. */
  answered(id: string | null): void {
    if (id !== null && id === this._id) {
      this._stale.splice(0).forEach(one => this._end(one));
    }
  }

  /** Ends it and earlier ones, which the page no longer uses. */
  end(): void {
    if (this._id !== null) {
      this._stale.push(this._id);
    }
    this._stale.splice(0).forEach(one => this._end(one));
    this._reset();
  }

  /** Forgets it: its kernel has ended. */
  forget(): void {
    this._stale.length = 0;
    this._kernels += 1;
    this._reset();
  }

  private _reset(): void {
    this._id = null;
    this._isUsed = false;
    this._started = new PromiseDelegate();
  }

  private async _ask(): Promise<void> {
    const connection = this._connection();
    if (!connection) {
      return;
    }
    const asked = this._kernels;
    const { content } = await askControl(connection, 'create_subshell_request', {});
    const id = (content as { subshell_id?: unknown }).subshell_id;
    if (typeof id !== 'string' || asked !== this._kernels) {
      return;
    }
    if (this._id === null) {
      this._id = id;
      this._isUsed = false;
      this._started.resolve();
    } else {
      this._end(id); // Another request was answered first.
    }
  }

  private _end(id: string): void {
    const connection = this._connection();
    if (connection && !connection.isDisposed) {
      askControl(connection, 'delete_subshell_request', { subshell_id: id }).catch(
        () => undefined // The kernel has ended, and its subshells too.
      );
    }
  }

  private readonly _connection: () => Kernel.IKernelConnection | null;
  private readonly _stale: string[] = [];
  private _id: string | null = null;
  private _isUsed = false;
  private _started = new PromiseDelegate<void>();
  private _kernels = 0;
}
