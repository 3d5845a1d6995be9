import { describe, expect, it } from 'vitest';
import type { State } from '../../src/protocol';
import { INSERT_CELL } from '../../src/views';
import {
  button,
  asked,
  drawn,
  one,
  open,
  page,
  press,
  words,
  rows,
  section
} from '../page';
import { cause, fn, retrace, snapshot, table, trace, variable } from '../records';

const CHOICE = { view: 'session' } as const;

function shown(state: State) {
  return page(snapshot(state), CHOICE);
}

describe('the lists of a session', () => {
  it('draws the names as a tree, and says which functions capture a variable', async () => {
    const { element } = shown({
      functions: table(fn(), fn({ id: 'f2', name: 'predict' })),
      traces: table(trace(), trace({ id: 't2', function: 'f2' })),
      variables: table(
        variable({ id: 'v1', name: 'model/block/dense/kernel' }),
        variable({ id: 'v2', name: 'model/block/norm/scale' }),
        variable({ id: 'v3', name: 'model/out/kernel' })
      )
    });
    const captured = section(element, 'Variables');
    const titles = [...captured.querySelectorAll('.nbfn-Row > summary')].map(words);
    expect(titles.map(title => title.split(' ')[0])).toEqual([
      'model',
      'block',
      'dense',
      'norm',
      'out'
    ]);
    expect(titles[0]).toBe('model 3 variables, 1.2 MB');
    expect(words(captured)).toContain(
      'kernel float32[784, 128] CPU:0 401 kB in train_step, predict'
    );
    const [values] = captured.querySelectorAll<HTMLElement>('.nbfn-Variable button');
    const cells = await asked(INSERT_CELL, () => press(values ?? element));
    expect(cells).toEqual([
      { code: '%tf_session model/block/dense/kernel', run: true }
    ]);
  });

  it('lead from each cause to the page on it, which opens in a tab of its own', async () => {
    const state = { functions: table(fn()), retraces: table(retrace()) };
    const told = snapshot(state, { documentation: 'https://docs.example/nbfn' });
    const last = section(page(told, CHOICE).element, 'Last retrace');
    await drawn();
    const link = one(last, '.nbfn-Causes a') as HTMLAnchorElement;
    expect(link.href).toBe('https://docs.example/nbfn/causes.html#shape');
    expect([link.target, link.rel]).toEqual(['_blank', 'noopener']);
    expect(link.getAttribute('aria-label')).toBe('How this comes about');
  });

  it.each([null, 'javascript:alert(1)', 'http://docs.example'])(
    'have no links where the address is %s',
    documentation => {
      const state = { functions: table(fn()), retraces: table(retrace()) };
      const { element } = page(snapshot(state, { documentation }), CHOICE);
      const last = section(element, 'Last retrace');
      expect(words(last)).toContain('float32[64, 784]');
      expect(last.querySelector('a')).toBeNull();
      expect(words(last)).not.toContain('?');
    }
  );

  it('groups all retraces by cause, the most expensive first', async () => {
    const dtype = cause({
      code: 'dtype',
      path: 'labels',
      old: 'int32[8]',
      new: 'int64[8]'
    });
    const { element } = shown({
      functions: table(fn(), fn({ id: 'f2', name: 'predict' })),
      retraces: table(
        retrace({ id: 'r1', time: 1 }),
        retrace({
          id: 'r2',
          function: 'f2',
          causes: [dtype],
          trace_seconds: 3,
          time: 2
        }),
        retrace({
          id: 'r3',
          number: 2,
          time: 3,
          cell: { id: 'cell-9', execution_count: 9, line: 1 }
        })
      )
    });
    const groups = section(element, 'Retraces by cause');
    expect(rows(groups).map(row => words(one(row, 'summary')))).toEqual([
      'in predict: dtype of labels 1 × · 3 s',
      'in train_step: shape of images 2 × · 420 ms'
    ]);
    expect(words(groups)).not.toContain('`');
    const [, shapes] = rows(groups);
    await open(shapes ?? element);
    expect(words(groups)).toContain('In [5], line 3 In [9], line 1');
    expect(words(groups)).toContain('Leave the batch size open');
    expect(words(groups)).toContain('It would have saved 420 ms of tracing.');
    expect(words(section(element, 'Last retrace'))).toContain('In [9], line 1');
  });

  it.each([
    ['alias', 'target', 'in move: the same tensor twice'],
    ['stale', 'margin', 'in move: margin has changed'],
    ['python_value', 'n', 'in move: value of n'],
    ['xla_compile', null, 'in move: compiled by XLA']
  ] as const)('says in a sentence what kind of cause %s is', (code, path, said) => {
    const causes = [cause({ code, path })];
    const { element } = shown({
      functions: table(fn({ name: 'move' })),
      retraces: table(retrace({ causes }), retrace({ id: 'r2', number: 2, causes }))
    });
    const groups = section(element, 'Retraces by cause');
    expect(words(one(groups, '.nbfn-Row summary'))).toBe(`${said} 2 × · 420 ms`);
  });

  it('offers all rows where one more step shows them', async () => {
    const functions = Array.from({ length: 61 }, (_, n) =>
      fn({ id: `f${n}`, name: `g${n}` })
    );
    const { element } = shown({ functions: table(...functions) });
    const list = section(element, 'Functions');
    expect(rows(list)).toHaveLength(50);
    await press(button(list, 'Show all 61'));
    expect(rows(list)).toHaveLength(61);
  });

  it('shows controls of direction as their codes, and long or hostile names as text', () => {
    const name = `a\u202egnp.exe<img src=x>${'x'.repeat(5000)}`;
    const { element } = shown({
      functions: table(fn({ name })),
      variables: table(variable({ name: 'model/\u2067evil\u2069' })),
      retraces: table(
        retrace({
          causes: [cause({ sentence: 'the key `\u202ex` is new', path: null })]
        })
      )
    });
    expect(element.querySelector('img')).toBeNull();
    expect(words(section(element, 'Functions'))).toContain(
      'a\\u202egnp.exe<img src=x>'
    );
    expect(words(section(element, 'Variables'))).toContain('\\u2067evil\\u2069');
    expect(words(section(element, 'Last retrace'))).toContain(
      'the key \\u202ex is new'
    );
    expect(element.textContent).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  });

  it('sorts functions by what the user chooses', async () => {
    const { element } = shown({
      functions: table(
        fn({ id: 'f1', name: 'first', calls: 2, trace_seconds: 3 }),
        fn({ id: 'f2', name: 'second', calls: 9, trace_seconds: 1 })
      )
    });
    const functions = section(element, 'Functions');
    const names = () => rows(functions).map(row => words(one(row, 'summary')));
    expect(names()[0]).toBe('first(images, labels) 1 trace');
    const select = one(functions, 'select') as HTMLSelectElement;
    select.value = 'calls';
    select.dispatchEvent(new Event('change', { bubbles: true }));
    await drawn();
    expect(names()).toEqual([
      'second(images, labels) 9 calls',
      'first(images, labels) 2 calls'
    ]);
  });
});
