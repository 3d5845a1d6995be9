import { describe, expect, it } from 'vitest';
import { INSERT_CELL } from '../../src/views';
import {
  asked,
  button,
  drawn,
  one,
  open,
  opened,
  press,
  rows,
  section,
  sessionPage,
  words
} from '../page';
import { fn, outline, table } from '../records';

const [NET, NOTE, PARTS] = ['Sequential', 'Sequential, 40 parameters', 'parts'];

describe('the lists of a session', () => {
  it('lists models, and their trees when they are opened', async () => {
    const net = { id: 'net', label: NET, note: NOTE, parameters: 40 };
    const tree = {
      title: PARTS,
      header: ['part', 'what', 'parameters'],
      rows: [
        ['net', 'Sequential', '40'],
        ['wide', 'Dense', '20'],
        ['kernel', 'float32[4, 5]', '20']
      ],
      total: 500,
      open: true,
      kind: 'tree' as const,
      depths: [0, 1, 2]
    };
    const values = { call: null, status: null, facts: [], summary: null, lines: [] };
    const pages = { 'model/net': outline({ ...values, tables: [tree] }) };
    const { element } = sessionPage({ models: table(net) }, { pages });
    const models = await opened(element, 'Models');
    const row = one(models, '.nbfn-Row');
    expect(words(row)).toBe(`net ${NOTE}`);
    await open(row);
    const names = () => [...models.querySelectorAll('tbody th')].map(words);
    expect(names()).toEqual(['net', 'wide', 'kernel']);
    expect(words(models)).toContain('The first 3 are here; and 497 more.');
    await press(button(models, 'wide'));
    expect(names()).toEqual(['net', 'wide']);
    const cells = await asked(INSERT_CELL, () =>
      press(button(models, 'what training has changed'))
    );
    expect(cells).toEqual([{ code: 'nbfn.session().tabulate("net")', run: true }]);
  });

  it('offers all rows where one more step shows them', async () => {
    const functions = Array.from({ length: 61 }, (_, n) =>
      fn({ id: `f${n}`, name: `g${n}` })
    );
    const { element } = sessionPage({ functions: table(...functions) });
    const list = section(element, 'Functions');
    expect(rows(list)).toHaveLength(50);
    await press(button(list, 'Show all 61'));
    expect(rows(list)).toHaveLength(61);
  });

  it('shows controls of direction as their codes, and long or hostile names as text', () => {
    const name = `a\u202egnp.exe<img src=x>${'x'.repeat(5000)}`;
    const { element } = sessionPage({
      functions: table(fn({ name }))
    });
    expect(element.querySelector('img')).toBeNull();
    expect(words(section(element, 'Functions'))).toContain(
      'a\\u202egnp.exe<img src=x>'
    );
    expect(element.textContent).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  });

  it('sorts functions by what the user chooses, and says it', async () => {
    const measured = (id: string, calls: string, took: string) =>
      fn({ id, name: id, measures: [calls, '1 trace', '0 retraces', took] });
    const { element } = sessionPage({
      functions: table(
        measured('first', '900 calls', '59.4 s'),
        measured('second', '1,200 calls', '1 min 1 s'),
        measured('third', '2 calls', '1 min 5 s')
      )
    });
    const functions = section(element, 'Functions');
    const names = () => rows(functions).map(row => words(one(row, 'summary')));
    expect(names()[0]).toBe('first(images, labels) 1 trace');
    const sort = async (name: string): Promise<void> => {
      const select = one(functions, 'select') as HTMLSelectElement;
      select.value = name;
      select.dispatchEvent(new Event('change', { bubbles: true }));
      await drawn();
    };
    await sort('calls');
    expect(names()).toEqual([
      'second(images, labels) 1,200 calls',
      'first(images, labels) 900 calls',
      'third(images, labels) 2 calls'
    ]);
    await sort('time lost to tracing');
    expect(names()).toEqual([
      'third(images, labels) 1 min 5 s',
      'second(images, labels) 1 min 1 s',
      'first(images, labels) 59.4 s'
    ]);
  });
});
