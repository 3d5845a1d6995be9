import { describe, expect, it } from 'vitest';
import type { ModelRecord, ModelRow } from '../../src/protocol';
import { INSERT_CELL } from '../../src/views';
import { asked, button, one, open, page as view, press, words } from '../page';
import { snapshot, table } from '../records';

const [DENSE, SEQUENTIAL, PARAMS] = ['Dense', 'Sequential', 'params'];

function row(path: string, values: Partial<ModelRow> = {}): ModelRow {
  const names = path.split('/');
  return {
    path,
    name: names[names.length - 1] ?? '',
    depth: path ? names.length : 0,
    kind: 'module',
    label: DENSE,
    ...values
  };
}

function variable(path: string, values: Partial<ModelRow> = {}): ModelRow {
  return row(path, {
    kind: 'variable',
    label: PARAMS,
    tensor: 'float32[4, 5]',
    parameters: 20,
    nbytes: 80,
    trainable: true,
    ...values
  });
}

const ROWS = [
  row('', { name: 'net', label: SEQUENTIAL, parameters: 40, nbytes: 160 }),
  row('wide', {
    parameters: 20,
    takes: 'float32[None, 4]',
    gives: 'float32[None, 5]'
  }),
  variable('wide/kernel'),
  row('narrow', { parameters: 20 }),
  variable('narrow/kernel', { trainable: false, unused: true })
];

function model(
  rows: ModelRow[] = ROWS,
  values: Partial<ModelRecord> = {}
): ModelRecord {
  return { id: 'net', label: SEQUENTIAL, rows, total: rows.length, ...values };
}

function shown(record: ModelRecord): HTMLElement {
  return view(snapshot(), { view: 'model', model: record }).element;
}

function names(element: Element): string[] {
  return [...element.querySelectorAll('tbody th')].map(words);
}

describe('the tree of a model', () => {
  it('says shapes, sizes and what is special', () => {
    const element = shown(model());
    expect(names(element)).toEqual([
      'net Sequential',
      'wide Dense',
      'kernel',
      'narrow Dense',
      'kernel frozen in no trace'
    ]);
    const cells = [...element.querySelectorAll('tbody tr')].map(each =>
      [...each.querySelectorAll('td')].map(words)
    );
    expect(cells[1]).toEqual(['20', '', 'float32[None, 5]']);
    expect(cells[2]).toEqual(['20', '80 B', 'float32[4, 5]']);
  });

  it('closes parts, and opens them again with what is in them', async () => {
    const element = shown(model());
    await press(button(element, 'wide Dense'));
    expect(names(element)).toHaveLength(4);
    await press(button(element, 'net Sequential'));
    expect(names(element)).toEqual(['net Sequential']);
    await press(button(element, 'net Sequential'));
    expect(names(element)).toHaveLength(4);
  });

  it('shows of a large model the outermost parts at first', () => {
    const rows = Array.from({ length: 50 }, (_, n) => [
      row(`part${n}`),
      variable(`part${n}/kernel`)
    ]).flat();
    const element = shown(model([row('', { name: 'net' }), ...rows], { total: 500 }));
    expect(names(element)).toHaveLength(51);
    expect(words(element)).toContain('399 other rows not listed.');
  });

  it('says what training has done only if that was asked', () => {
    expect(words(one(shown(model()), 'thead'))).not.toContain('Change');
    const rows = ROWS.map(each =>
      each.path === 'wide/kernel' ? { ...each, change: 0.0123, gradient: 4.5678 } : each
    );
    const element = shown(model(rows));
    expect(words(one(element, 'thead'))).toContain('ChangeGradient');
    const cells = [...element.querySelectorAll('tbody tr:nth-child(3) td')].map(words);
    expect(cells.slice(-3, -1)).toEqual(['1.23 %', '4.57']);
  });

  it('says why there is none', () => {
    expect(words(shown(model([], { problem: 'setup cannot run now' })))).toBe(
      'setup cannot run now'
    );
  });

  it('stands in the session, with a cell that shows what training has changed', async () => {
    const { element } = view(snapshot({ models: table(model()) }), { view: 'session' });
    const summary = [...element.querySelectorAll('summary')].find(each =>
      words(each).startsWith('net ')
    );
    expect(words(summary ?? element)).toBe('net Sequential, 40 parameters');
    await open(summary?.parentElement ?? element);
    const cells = await asked(INSERT_CELL, () =>
      press(button(element, 'what training has changed'))
    );
    expect(cells).toEqual([{ code: 'nbfn.session().tabulate("net")', run: true }]);
  });
});
