import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import type { SessionTracker } from '../tracker';

/** What the commands need. */
export interface CommandOptions {
  app: JupyterFrontEnd;
  notebooks: INotebookTracker;
  tracker: SessionTracker;
  trans: TranslationBundle;
}

/** Notices are toasts for so long; without this they would only be counted in a corner. */
export const TOAST = { autoClose: 8000 };

/** The schema of a command without arguments. */
export const NO_ARGUMENTS: { args: ReadonlyJSONObject } = {
  args: { type: 'object', properties: {} }
};
