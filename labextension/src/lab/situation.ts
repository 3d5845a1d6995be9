import type { TranslationBundle } from '@jupyterlab/translation';
import type { KernelSession } from '../feed/session';

/** What the panel is about: no document, a document without a kernel, or a kernel. */
export type Situation =
  | { kind: 'no-document' }
  | { kind: 'no-kernel' }
  | { kind: 'starting' }
  | { kind: 'session'; session: KernelSession };

/** The sentence that stands in place of the view, or null if there is something to view. */
export function sentence(
  situation: Situation,
  trans: TranslationBundle
): string | null {
  const status = situation.kind === 'session' ? situation.session.status : situation;
  switch (status.kind) {
    case 'no-document':
      return trans.__('Open a notebook to see its TensorFlow functions.');
    case 'no-kernel':
      return trans.__('There is no kernel: start one to see its TensorFlow functions.');
    case 'attached':
      return null;
    case 'starting':
      return trans.__('The kernel is starting.');
    case 'waiting':
      return trans.__('Waiting for the kernel to answer.');
    case 'dead':
      return trans.__('The kernel has died: restart it to go on.');
    case 'foreign':
      return trans.__('This kernel runs %1; nbfn works with Python.', status.language);
    case 'absent':
      return trans.__('nbfn is not loaded: run %load_ext nbfn.');
    case 'shared':
      return trans.__(
        'This kernel was shown by a notebook that has been closed: reload the page to see it.'
      );
    case 'refused':
      return (
        status.message ||
        trans.__(
          'The kernel has nbfn %1, which this page cannot read: install the same version in both and reload the page.',
          status.nbfn
        )
      );
  }
}
