import type { MessageLike } from './kernel';
import { field } from './messages';

/** The cell that a kernel runs. */
export interface Running {
  /** Id of the request to run it. */
  request: string;
  /** The n of In [n]; null if the page was opened after the cell began. */
  count: number | null;
  code: string | null;
  /** Id of the notebook cell, if this page runs it. */
  cellId: string | null;
  /** When it began, in milliseconds; null if the page was opened later. */
  since: number | null;
}

/** Maximum number of remembered requests; older ones are forgotten, as their answers may be lost. */
const MAX_REQUESTS = 1000;

/**
 * Tracks which cell is running, whichever page runs it.
 *
 * The kernel's status does not show it: it is that of the message that the kernel handled last,
 * which may be on a subshell while a cell is running.
 */
export class RunningCell {
  /** The running cell, or null. */
  get value(): Running | null {
    return this._value;
  }

  /** Processes a sent or received message; returns whether the value has changed. */
  receive(message: MessageLike, direction: string): boolean {
    const { header, parent_header, content, metadata } = message;
    if (direction === 'send') {
      const cellId = textIn(metadata, 'cellId');
      if (header.msg_type === 'execute_request' && cellId && header.msg_id) {
        this._remember(header.msg_id, cellId);
      }
      return false;
    }
    const request = textIn(parent_header, 'msg_id');
    if (!request || textIn(parent_header, 'msg_type') !== 'execute_request') {
      return false;
    }
    if (header.msg_type === 'execute_input') {
      const count = numberIn(content, 'execution_count');
      this._begin(request, count, textIn(content, 'code'), Date.now());
      return true;
    }
    if (header.msg_type !== 'status') {
      return false;
    }
    const state = textIn(content, 'execution_state');
    if (state === 'busy' && this._value?.request !== request) {
      this._begin(request, null, null, null);
      return true;
    }
    if (state === 'idle' && this._value?.request === request) {
      this._cells.delete(request);
      return this.forget();
    }
    return false;
  }

  /** Forgets the cell, as its kernel has ended; returns whether there was one. */
  forget(): boolean {
    const had = this._value !== null;
    this._value = null;
    return had;
  }

  private _begin(
    request: string,
    count: number | null,
    code: string | null,
    since: number | null
  ): void {
    const cellId = this._cells.get(request) ?? null;
    this._value = { request, count, code, cellId, since };
  }

  private _remember(request: string, cellId: string): void {
    this._cells.set(request, cellId);
    const [oldest] = this._cells.keys();
    if (this._cells.size > MAX_REQUESTS && oldest !== undefined) {
      this._cells.delete(oldest);
    }
  }

  private _value: Running | null = null;
  private readonly _cells = new Map<string, string>();
}

function textIn(record: unknown, name: string): string | null {
  const value = field(record, name);
  return typeof value === 'string' ? value : null;
}

function numberIn(record: unknown, name: string): number | null {
  const value = field(record, name);
  return typeof value === 'number' ? value : null;
}
