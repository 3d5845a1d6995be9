import type { TranslationBundle } from '@jupyterlab/translation';
import type { KernelSession } from '../feed/session';
import { PROTOCOL } from '../protocol';

/** The line that loads nbfn. */
export const LOAD = '%load_ext nbfn';

/** What the panel shows: no document, a document without a running kernel, or a kernel's session. */
export type Situation =
  | { kind: 'no-document' }
  | { kind: 'no-kernel' }
  | { kind: 'starting' }
  | { kind: 'dead' }
  | { kind: 'session'; session: KernelSession };

/** The text in place of the view, with its remedy. */
export interface Notice {
  text: string;
  /** The action of the button, if any. */
  action?: 'load' | 'upgrade';
  /** The command to run. */
  code?: string;
}

/** Returns the notice in place of the view; null if the view can be shown. */
export function noticeOf(
  situation: Situation,
  trans: TranslationBundle
): Notice | null {
  const status = situation.kind === 'session' ? situation.session.status : situation;
  switch (status.kind) {
    case 'no-document':
      return { text: trans.__('Open a notebook to see its TensorFlow functions.') };
    case 'no-kernel':
      return {
        text: trans.__('There is no kernel: start one to see its TensorFlow functions.')
      };
    case 'attached':
      return null;
    case 'starting':
      return { text: trans.__('The kernel is starting.') };
    case 'waiting':
      return { text: trans.__('The kernel is busy; waiting for its answer.') };
    case 'dead':
      return { text: trans.__('The kernel has died: restart it to go on.') };
    case 'foreign':
      return {
        text: trans.__('This kernel runs %1; nbfn works with Python.', status.language)
      };
    case 'absent':
      return {
        text: trans.__('nbfn is not loaded in this kernel.'),
        action: 'load',
        code: LOAD
      };
    case 'refused':
      // The side with the lower protocol is the one to upgrade.
      return status.protocol > PROTOCOL
        ? {
            text: trans.__(
              'The kernel has nbfn %1, which this page is too old for. Upgrade nbfn where JupyterLab runs, then reload the page:',
              status.nbfn
            ),
            code: `pip install nbfn==${status.nbfn}`
          }
        : {
            text: trans.__(
              'The kernel has nbfn %1, which is too old for this page. Upgrade it, then restart the kernel:',
              status.nbfn
            ),
            action: 'upgrade',
            code: '%pip install --upgrade nbfn'
          };
  }
}
