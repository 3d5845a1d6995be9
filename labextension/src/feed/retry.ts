/** Milliseconds between two checks, after which a missing answer is considered lost. */
const CHECK_MS = 1000;

/** Maximum number of checks between two retries. */
const MAX_CHECKS = 16;

/** Describes an awaited answer and how to request it. */
interface RetryOptions {
  /** Whether an answer is awaited. */
  isWanted: () => boolean;
  /** Whether the kernel is idle, so that it would have answered. */
  isIdle: () => boolean;
  /** Requests the answer again. */
  ask: () => void;
}

/**
 * Repeats a request until it is answered, because any message may be lost.
 *
 * A busy kernel is asked at increasing intervals, as it may answer all requests later. A kernel
 * that has become idle would have answered.
 */
export class Retry {
  /** Creates a retry that does not wait yet. */
  constructor(options: RetryOptions) {
    this._options = options;
  }

  /** Starts waiting if an answer is awaited; does nothing if it waits already. */
  watch(): void {
    if (this._timer === undefined && this._options.isWanted()) {
      this._checks = this._left = 1;
      this._schedule();
    }
  }

  /** Notes that the kernel has become idle: it has handled all earlier requests. */
  hurry(): void {
    this._isHurried = true;
    this.watch();
  }

  /** Starts waiting from the beginning. */
  restart(): void {
    this.stop();
    this.watch();
  }

  /** Stops waiting. */
  stop(): void {
    clearTimeout(this._timer);
    this._timer = undefined;
  }

  private _schedule(): void {
    this._timer = setTimeout(() => this._check(), CHECK_MS);
  }

  private _check(): void {
    this._timer = undefined;
    const { isWanted, isIdle, ask } = this._options;
    if (!isWanted()) {
      return;
    }
    this._left -= 1;
    const isLost = this._isHurried && isIdle();
    if (isLost || this._left <= 0) {
      this._isHurried = false;
      this._checks = isLost ? 1 : Math.min(2 * this._checks, MAX_CHECKS);
      this._left = this._checks;
      ask();
    }
    this._schedule();
  }

  private readonly _options: RetryOptions;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _checks = 1;
  private _left = 1;
  private _isHurried = false;
}
