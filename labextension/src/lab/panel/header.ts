import type { TranslationBundle } from '@jupyterlab/translation';
import type { KernelSession } from '../../feed/session';
import type { Running } from '../../feed/running';
import { duration } from '../../views/parts/format';
import type { KernelDocument } from '../tracker';

/** Callbacks of the header. */
interface HeaderEvents {
  /** Go to the document. */
  onDocument: () => void;
  /** Go to the cell that runs. */
  onRunning: (running: Running) => void;
}

/** Minimum time after which the duration of a running cell is shown. */
const MIN_SHOWN_MS = 2000;

/** Shows the panel's document, the state of its kernel, and the running cell. */
export class PanelHeader {
  /** Creates an empty header. */
  constructor(trans: TranslationBundle, events: HeaderEvents) {
    this._trans = trans;
    this.node.className = 'nbfn-Header';
    this._name.className = 'nbfn-Header-name';
    this._name.type = 'button';
    this._name.title = trans.__('Go to this document');
    this._name.addEventListener('click', events.onDocument);
    this._state.className = 'nbfn-Header-state';
    this._running.className = 'nbfn-Header-running';
    this._running.type = 'button';
    this._running.title = trans.__('Go to this cell');
    this._running.addEventListener('click', () => {
      if (this._shown) {
        events.onRunning(this._shown);
      }
    });
    this._note.className = 'nbfn-Header-note';
    this.node.append(this._name, this._state, this._running, this._note);
  }

  readonly node = document.createElement('div');

  /** Shows a document and the session of its kernel, if any. */
  update(shown: KernelDocument | null, session: KernelSession | null): void {
    this.node.hidden = shown === null;
    set(this._name, shown ? this._nameOf(shown) : '');
    const running = session?.running ?? null;
    const state = session ? this._stateOf(session) : null;
    this._state.hidden = state === null;
    this._state.dataset.state = state?.kind ?? '';
    set(this._state, state?.text ?? '');
    this._shown = running;
    this._running.hidden = running === null;
    this._tick();
    const isWithout =
      session?.status.kind === 'attached' && session.store.state?.tensorflow === null;
    this._note.hidden = !isWithout;
    set(
      this._note,
      isWithout ? this._trans.__('TensorFlow has not been imported.') : ''
    );
  }

  /** Starts or stops the clock. */
  setActive(active: boolean): void {
    clearInterval(this._timer);
    if (active) {
      this._tick();
      this._timer = setInterval(() => this._tick(), 1000);
    }
  }

  /** The document's name; that of a console is marked, as it may equal a notebook's. */
  private _nameOf({ title, node }: KernelDocument): string {
    const { label } = title;
    const isConsole = node.classList.contains('jp-ConsolePanel');
    return isConsole && !label.startsWith('Console')
      ? this._trans.__('%1 (console)', label)
      : label;
  }

  private _stateOf(session: KernelSession): { kind: string; text: string } | null {
    const { kernel, running, status } = session;
    const trans = this._trans;
    if (status.kind === 'dead') {
      return { kind: 'dead', text: trans.__('Dead') };
    }
    if (status.kind === 'starting') {
      return { kind: 'starting', text: trans.__('Starting') };
    }
    if (kernel.connectionStatus !== 'connected') {
      return { kind: 'lost', text: trans.__('Reconnecting') };
    }
    // A kernel that has not answered yet is busy, whatever its status.
    return running || kernel.status === 'busy' || status.kind === 'waiting'
      ? { kind: 'busy', text: trans.__('Busy') }
      : { kind: 'idle', text: trans.__('Idle') };
  }

  private _tick(): void {
    set(this._running, this._shown ? this._runningText(this._shown) : '');
  }

  private _runningText({ count, since }: Running): string {
    const trans = this._trans;
    const name = count === null ? trans.__('A cell') : trans.__('In [%1]', count);
    const elapsed = since === null ? 0 : Date.now() - since;
    return elapsed < MIN_SHOWN_MS
      ? trans.__('%1 is running', name)
      : trans.__(
          '%1 has been running for %2',
          name,
          duration(Math.floor(elapsed / 1000))
        );
  }

  private readonly _trans: TranslationBundle;
  private readonly _name = document.createElement('button');
  private readonly _state = document.createElement('span');
  private readonly _running = document.createElement('button');
  private readonly _note = document.createElement('span');
  private _shown: Running | null = null;
  private _timer: ReturnType<typeof setInterval> | undefined;
}

/** Sets a text if it differs, so that unchanged text is not drawn or read aloud again. */
function set(node: HTMLElement, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}
