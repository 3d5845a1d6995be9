import type { TranslationBundle } from '@jupyterlab/translation';
import { expect, it, vi } from 'vitest';
import type { SessionStatus } from '../../src/feed/session';
import { KernelSession } from '../../src/feed/session';
import type { Situation } from '../../src/lab/situation';
import { sentence } from '../../src/lab/situation';
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
  [{ kind: 'starting' }, 'The kernel is starting.']
])('says of %j what stands in place of the view', (situation, text) => {
  expect(sentence(situation, trans)).toBe(text);
});

it.each<[SessionStatus, string | null]>([
  [{ kind: 'starting' }, 'The kernel is starting.'],
  [{ kind: 'waiting' }, 'Waiting for the kernel to answer.'],
  [{ kind: 'dead' }, 'The kernel has died: restart it to go on.'],
  [
    { kind: 'foreign', language: 'julia' },
    'This kernel runs julia; nbfn works with Python.'
  ],
  [{ kind: 'absent' }, 'nbfn is not loaded: run %load_ext nbfn.'],
  [
    { kind: 'shared' },
    'This kernel was shown by a notebook that has been closed: reload the page to see it.'
  ],
  [{ kind: 'refused', nbfn: '9.0', message: 'Upgrade.' }, 'Upgrade.'],
  [
    { kind: 'refused', nbfn: '9.0', message: '' },
    'The kernel has nbfn 9.0, which this page cannot read: install the same version in both and reload the page.'
  ],
  [{ kind: 'attached' }, null]
])('says of a session that is %j what stands in place of the view', (status, text) => {
  const session = new KernelSession(new FakeKernel());
  vi.spyOn(session, 'status', 'get').mockReturnValue(status);
  expect(sentence({ kind: 'session', session }, trans)).toBe(text);
});
