import type { TranslationBundle } from '@jupyterlab/translation';
import { expect, it } from 'vitest';
import { Store } from '../../../src/feed/store';
import { badgeOf } from '../../../src/lab/cells/summary';
import type { TracedCellRecord } from '../../../src/protocol';
import { snapshot } from '../../records';

const trans = {
  __: (text: string) => text,
  _n: (one: string, many: string, n: number, m: number) =>
    (n === 1 ? one : many).replace('%1', `${n}`).replace('%2', `${m}`)
} as unknown as TranslationBundle;

const RECORD: TracedCellRecord = {
  id: 'cell-1',
  name: '%tf_auto',
  source: 'y = x + 1\nprint(y)',
  lines: { 1: null, 2: 'prints' },
  sentence: '1 of 2 statements in 1 graph (line 1)',
  python: ['line 2 prints'],
  segments: [],
  functions: [],
  graph_statements: 1,
  statements: 2,
  seconds: 0.1,
  eager_seconds: 0.1,
  runs: 3
};

it.each([
  [RECORD, '%tf_auto · 1 of 2 statements in graphs'],
  [
    { ...RECORD, name: 'train', source: '\ny = x + 1\nprint(y)' },
    '1 of 2 statements in graphs'
  ]
])('says whose a cell is that has no magic of its own', (record, text) => {
  const store = new Store();
  store.receive(snapshot({}));
  const { state } = store;
  if (!state) throw new Error('no state');
  const source = record.source.replace(/^\n/, '%%tf_function train\n');
  const cell = { id: 'a', text: source, isEdited: false };
  expect(badgeOf(state, cell, record, trans)?.text).toBe(`${text} · not traced yet`);
});
