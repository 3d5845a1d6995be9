import { afterEach, describe, expect, it, vi } from 'vitest';
import type { State } from '../../src/protocol';
import type { RevealCell } from '../../src/views';
import { REVEAL_CELL } from '../../src/views';
import { asked, button, drawn, one, open, page, press, words } from '../page';
import {
  cause,
  fn,
  retrace,
  retraced,
  snapshot,
  table,
  trace,
  variable,
  work
} from '../records';

const CHOICE = { view: 'function', target: 'f1' } as const;

function line(state: State): string {
  const { element } = page(snapshot(state), CHOICE);
  return words(one(element, '.nbfn-StatusLine-text'));
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('work that is under way', () => {
  it('stands above the status line, with how far it is', () => {
    const { element } = page(
      snapshot({ functions: table(fn()), traces: table(trace()), work: table(work()) }),
      CHOICE
    );
    const bar = one(element, 'progress') as HTMLProgressElement;
    expect([bar.value, bar.max, bar.getAttribute('aria-label')]).toEqual([
      50,
      150,
      'train_step'
    ]);
    expect(words(one(element, '.nbfn-FunctionView'))).toMatch(
      /^tracing train_step.*Hit/
    );
  });

  it('takes the place of the line while the first trace is made', () => {
    const { element } = page(
      snapshot({
        functions: table(fn({ last: null, calls: 0, hits: 0, traces: 0 })),
        work: table(work({ total: null }))
      }),
      CHOICE
    );
    expect((one(element, 'progress') as HTMLProgressElement).position).toBe(-1);
    expect(words(element)).not.toContain('Not called yet');
  });

  it('is left out where it belongs to another function', () => {
    const { element } = page(
      snapshot({
        functions: table(fn()),
        traces: table(trace()),
        work: table(work({ function: 'f2' }))
      }),
      CHOICE
    );
    expect(element.querySelector('progress')).toBeNull();
  });
});

describe('the status line', () => {
  it('says that the call was a hit', () => {
    expect(
      line({
        functions: table(fn({ calls: 44, hits: 41, traces: 3, last_trace: 't2' })),
        traces: table(trace(), trace({ id: 't2', number: 2 }))
      })
    ).toBe('Hit train_step: trace 2 of 3 41 of 44 calls hit');
  });

  it('says what the first trace cost', () => {
    expect(
      line({
        functions: table(fn({ last: 'trace', calls: 1, hits: 0 })),
        traces: table(trace())
      })
    ).toBe('Traced train_step for the first time 312 ms to trace 148 operations');
  });

  it('says why a first trace was made, if it was not the first call', () => {
    const because = cause({
      code: 'new_code',
      sentence: 'The code of the cell changed.'
    });
    expect(
      line({
        functions: table(fn({ last: 'trace' })),
        traces: table(trace({ cause: because }))
      })
    ).toContain('The code of the cell changed. 312 ms');
  });

  it('says which argument made the call retrace, and what that cost', () => {
    expect(line(retraced())).toBe(
      'Retraced train_step: images float32[32, 784] → float32[64, 784] 210 ms to trace'
    );
  });

  it('takes the sentence of a cause that has no argument, and counts the others', () => {
    const state = retraced();
    state.retraces = table(
      retrace({
        causes: [
          cause({ code: 'context', sentence: 'The device scope differs.' }),
          cause(),
          cause()
        ]
      })
    );
    expect(line(state)).toContain('The device scope differs. and 2 more causes');
  });

  it('says that a function was not called', () => {
    expect(line({ functions: table(fn({ last: null, last_trace: null })) })).toBe(
      'Not called yet train_step'
    );
  });

  it('follows the store', async () => {
    const { store, element } = page(
      snapshot({ functions: table(fn()), traces: table(trace()) }),
      CHOICE
    );
    store.receive(snapshot(retraced(), { seq: 2 }));
    expect(words(element)).not.toContain('Retraced');
    await drawn();
    expect(words(element)).toContain('Retraced');
  });
});

describe('sentences', () => {
  it('show code between backticks, and a lone backtick as it is', () => {
    const state = retraced();
    const sentence = 'Let one trace serve every size of `x`';
    state.retraces = table(retrace({ remedy: { sentence, code: 'relax()' } }));
    const { element } = page(snapshot(state), CHOICE);
    const remedy = button(element, 'Let one trace serve every size of x');
    expect(one(remedy, 'code').textContent).toBe('x');

    state.retraces = table(retrace({ remedy: { sentence: 'a ` b', code: 'relax()' } }));
    button(page(snapshot(state), CHOICE).element, 'a ` b');
  });
});

describe('the details', () => {
  async function opened(state: State) {
    const { element } = page(snapshot(state), CHOICE);
    await open(one(element, 'details'));
    return element;
  }

  it('are drawn only when they are opened', async () => {
    const { element } = page(snapshot(retraced()), CHOICE);
    expect(words(one(element, 'summary'))).toBe('2 traces, 2 calls, 1 retrace');
    expect(element.querySelector('table')).toBeNull();
    await open(one(element, 'details'));
    expect(element.querySelectorAll('table')).toHaveLength(2);
  });

  it('list traces, retraces and captured variables', async () => {
    const element = await opened(retraced());
    const [traces, variables] = element.querySelectorAll('table');
    if (!traces || !variables) throw new Error('no tables');
    const rows = [...traces.querySelectorAll('tbody tr')];
    expect(rows.map(row => words(row.children[1] ?? row))).toEqual([
      'images float32[32, 784]',
      'images float32[64, 784]'
    ]);
    expect(words(rows[0]?.children[6] ?? traces)).toBe('20.5 kB');
    expect(words(one(element, 'ol > li'))).toContain('Retrace 1 210 ms to trace');
    expect(words(one(variables, 'tbody tr'))).toContain('model/hidden/kernel');
    expect(words(one(variables, 'tbody tr'))).toContain('[784, 128]');
    expect(words(one(variables, 'tbody tr'))).toContain('401 kB');
  });

  it('list the newest retrace first', async () => {
    const state = retraced();
    state.retraces = table(retrace(), retrace({ id: 'r2', number: 2 }));
    const element = await opened(state);
    const items = [...element.querySelectorAll('.nbfn-Retrace')].map(words);
    expect(items.map(item => item.slice(0, 9))).toEqual(['Retrace 2', 'Retrace 1']);
  });

  it('send the host to a cell', async () => {
    const element = await opened(retraced());
    const seen = await asked<RevealCell>(REVEAL_CELL, () =>
      press(button(element, 'In [5], line 3'))
    );
    expect(seen).toEqual([{ cellId: 'cell-3', line: 3 }]);
  });

  it('stay small with 10,000 traces, and grow by the button', async () => {
    const rows = Array.from({ length: 10_000 }, (_, n) =>
      trace({ id: `t${n}`, number: n + 1 })
    );
    const element = await opened({
      functions: table(fn({ traces: rows.length })),
      traces: table(...rows),
      variables: table(variable())
    });
    const drawnRows = () =>
      element.querySelector('table')?.querySelectorAll('tbody tr').length;
    expect(drawnRows()).toBe(20);
    await press(button(element, 'Show 20 more of 9,980'));
    expect(drawnRows()).toBe(40);
  });

  it('fold a long signature', async () => {
    const leaves = Array.from({ length: 50 }, (_, n) => ({
      path: `batch[${n}]`,
      type: 'int32[]'
    }));
    const element = await opened({
      functions: table(fn()),
      traces: table(trace({ signature: leaves }))
    });
    expect(element.querySelectorAll('.nbfn-Signature-leaf')).toHaveLength(3);
    await press(button(element, '47 more'));
    expect(element.querySelectorAll('.nbfn-Signature-leaf')).toHaveLength(50);
  });
});

describe('what users wrote', () => {
  it('is only ever text', async () => {
    const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>';
    const state: State = {
      functions: table(
        fn({
          name: evil,
          parameters: evil,
          last: 'retrace',
          last_retrace: 'r1',
          cell: { file: evil }
        })
      ),
      traces: table(
        trace({
          signature: [{ path: evil, type: evil }],
          cell: { id: evil, file: evil },
          cause: cause({ path: evil, old: evil, new: evil, sentence: evil })
        })
      ),
      retraces: table(
        retrace({
          causes: [cause({ path: evil, old: evil, new: evil, sentence: evil })],
          remedy: { sentence: evil, code: evil },
          cell: { id: evil, file: evil }
        })
      ),
      variables: table(variable({ name: evil, dtype: evil, device: evil }))
    };
    vi.stubGlobal('navigator', {});
    for (const choice of [CHOICE, { view: 'session' } as const]) {
      const { element } = page(snapshot(state, { nbfn: evil }), choice);
      for (const details of element.querySelectorAll<HTMLElement>('details')) {
        await open(details);
      }
      const remedy = element.querySelector<HTMLElement>('.nbfn-Remedy button');
      if (remedy) await press(remedy);
      expect(element.querySelectorAll('img, script')).toHaveLength(0);
      expect(element.textContent).toContain(evil);
    }
  });
});

it('says that a function is gone', () => {
  const { element } = page(snapshot(), CHOICE);
  expect(words(element)).toBe('This function is no longer in the kernel.');
});
