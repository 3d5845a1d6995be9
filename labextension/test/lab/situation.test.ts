import type { TranslationBundle } from '@jupyterlab/translation';
import { expect, it, vi } from 'vitest';
import type { SessionStatus } from '../../src/feed/kernel';
import { KernelSession } from '../../src/feed/session';
import type { Notice, Situation } from '../../src/lab/situation';
import { noticeOf } from '../../src/lab/situation';
import { PROTOCOL } from '../../src/protocol';
import { FakeKernel } from '../feed/fakeKernel';

const trans = {
  __: (text: string, ...values: string[]) => text.replace('%1', values[0] ?? '%1')
} as TranslationBundle;

it.each<[Situation, string]>([
  [{ kind: 'no-document' }, 'Open a notebook to see its TensorFlow functions.'],
  [
    { kind: 'no-kernel' },
    'There is no kernel: start one to see its TensorFlow functions.'
  ],
  [{ kind: 'starting' }, 'The kernel is starting.'],
  [{ kind: 'dead' }, 'The kernel has died: restart it to go on.']
])('says of %j what stands in place of the view', (situation, text) => {
  expect(noticeOf(situation, trans)).toEqual({ text });
});

it.each<[SessionStatus, Notice | null]>([
  [{ kind: 'starting' }, { text: 'The kernel is starting.' }],
  [{ kind: 'waiting' }, { text: 'The kernel is busy; waiting for its answer.' }],
  [{ kind: 'dead' }, { text: 'The kernel has died: restart it to go on.' }],
  [
    { kind: 'foreign', language: 'julia' },
    { text: 'This kernel runs julia; nbfn works with Python.' }
  ],
  [
    { kind: 'absent' },
    {
      text: 'nbfn is not loaded in this kernel.',
      action: 'load',
      code: '%load_ext nbfn'
    }
  ],
  [
    { kind: 'refused', nbfn: '9.0', protocol: PROTOCOL + 1 },
    {
      text: 'The kernel has nbfn 9.0, which this page is too old for. Upgrade nbfn where JupyterLab runs, then reload the page:',
      code: 'pip install nbfn==9.0'
    }
  ],
  [
    { kind: 'refused', nbfn: '0.0', protocol: PROTOCOL - 1 },
    {
      text: 'The kernel has nbfn 0.0, which is too old for this page. Upgrade it, then restart the kernel:',
      action: 'upgrade',
      code: '%pip install --upgrade nbfn'
    }
  ],
  [{ kind: 'attached' }, null]
])(
  'says of a session that is %j what stands in place of the view',
  (status, notice) => {
    const session = new KernelSession(new FakeKernel());
    vi.spyOn(session, 'status', 'get').mockReturnValue(status);
    expect(noticeOf({ kind: 'session', session }, trans)).toEqual(notice);
  }
);
