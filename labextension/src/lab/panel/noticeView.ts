import type { TranslationBundle } from '@jupyterlab/translation';
import type { Notice } from '../situation';

/** Callbacks of a notice. */
interface NoticeEvents {
  onLoad: () => void;
  /** Insert a command where it can be run. */
  onInsert: (code: string) => void;
}

/** Shows why there is nothing to view, with a button for the remedy. */
export class NoticeView {
  /** Creates an empty notice. */
  constructor(trans: TranslationBundle, events: NoticeEvents) {
    this._trans = trans;
    this.node.className = 'nbfn-Notice';
    this._text.className = 'nbfn-Notice-text';
    this._text.setAttribute('role', 'status');
    this._code.className = 'nbfn-Notice-code';
    this._button.type = 'button';
    this._button.className = 'nbfn-Notice-button jp-mod-styled jp-mod-accept';
    this._button.addEventListener('click', () => {
      if (this._notice?.action === 'load') {
        events.onLoad();
      } else if (this._notice?.code) {
        events.onInsert(this._notice.code);
      }
    });
    this.node.append(this._text, this._code, this._button);
  }

  readonly node = document.createElement('div');

  /** Shows a notice, or none. */
  update(notice: Notice | null): void {
    if (JSON.stringify(notice) === JSON.stringify(this._notice)) {
      return;
    }
    this._notice = notice;
    this.node.hidden = notice === null;
    this._text.textContent = notice?.text ?? '';
    this._code.textContent = notice?.code ?? '';
    this._code.hidden = !notice?.code;
    this._button.hidden = !notice?.action;
    this._button.textContent =
      notice?.action === 'load'
        ? this._trans.__('Load nbfn')
        : this._trans.__('Insert This Command');
  }

  private readonly _trans: TranslationBundle;
  private readonly _text = document.createElement('p');
  private readonly _code = document.createElement('code');
  private readonly _button = document.createElement('button');
  private _notice: Notice | null | undefined;
}
