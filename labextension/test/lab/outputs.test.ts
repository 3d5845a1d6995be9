import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { expect, it } from 'vitest';
import { MIME_TYPE, outputFactory } from '../../src/lab/outputs';
import { drawn, words } from '../page';
import { snapshot } from '../records';

function model(title: string): IRenderMime.IMimeModel {
  const page = { title, lines: [], tables: [], groups: [] };
  const data = { [MIME_TYPE]: { view: 'page', page, snapshot: snapshot({}) } };
  return { data } as never;
}

it('shows the newest of two results that come while the views are loaded', async () => {
  const output = outputFactory({} as never).createRenderer({} as never);
  await Promise.all([
    output.renderModel(model('first')),
    output.renderModel(model('second'))
  ]);
  await drawn();
  expect(words(output.node)).toBe('second');
  output.dispose();
});
