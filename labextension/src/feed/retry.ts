/** Milliseconds between two looks, after which an answer that has not come is taken for lost. */
const LOOK_MS = 1000;

/** The most looks between two tries. */
const MAX_LOOKS = 16;

/** What is waited for, and how it is asked for. */
interface Wanted {
  /** Whether something is waited for. */
  isWanted: () => boolean;
  /** Whether a kernel that lives has nothing to do but to answer. */
  isIdle: () => boolean;
  /** Asks for it once more. */
  ask: () => void;
}

/**
 * Asks again for what does not come, whatever was lost on the way.
 *
 * A kernel that is busy is asked less and less often, as it may answer everything later. Once it
 * has become idle, it would have answered.
 */
export class Retry {
  /** Makes one that waits for nothing yet. */
  constructor(wanted: Wanted) {
    this._wanted = wanted;
  }

  /** Begins to wait, if something is waited for that was not before. */
  watch(): void {
    if (this._timer === undefined && this._wanted.isWanted()) {
      this._looks = this._left = 1;
      this._schedule();
    }
  }

  /** Notes that the kernel has become idle: it lives, and has done what it was asked before. */
  hurry(): void {
    this._isHurried = true;
    this.watch();
  }

  /** Waits as if nothing had been asked before. */
  restart(): void {
    this.stop();
    this.watch();
  }

  /** Waits for nothing any more. */
  stop(): void {
    clearTimeout(this._timer);
    this._timer = undefined;
  }

  private _schedule(): void {
    this._timer = setTimeout(() => this._look(), LOOK_MS);
  }

  private _look(): void {
    this._timer = undefined;
    const { isWanted, isIdle, ask } = this._wanted;
    if (!isWanted()) {
      return;
    }
    this._left -= 1;
    const isLost = this._isHurried && isIdle();
    if (isLost || this._left <= 0) {
      this._isHurried = false;
      this._looks = isLost ? 1 : Math.min(2 * this._looks, MAX_LOOKS);
      this._left = this._looks;
      ask();
    }
    this._schedule();
  }

  private readonly _wanted: Wanted;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _looks = 1;
  private _left = 1;
  private _isHurried = false;
}
