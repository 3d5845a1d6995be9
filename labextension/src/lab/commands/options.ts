import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import type { SessionTracker } from '../tracker';

/** Options of the commands. */
export interface CommandOptions {
  app: JupyterFrontEnd;
  notebooks: INotebookTracker;
  tracker: SessionTracker;
  trans: TranslationBundle;
}

/** Duration of toasts in milliseconds; without it only a counter is shown. */
export const TOAST = { autoClose: 8000 };

/** The schema of a command without arguments. */
export const NO_ARGUMENTS: { args: ReadonlyJSONObject } = {
  args: { type: 'object', properties: {} }
};
