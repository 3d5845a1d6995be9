import { afterEach, describe, expect, it } from 'vitest';
import { ENGLISH, trans, translateWith } from '../src/words';
import { page, words } from './page';
import { fn, snapshot, table, trace } from './records';

afterEach(() => translateWith(ENGLISH));

const SESSION = snapshot({ functions: table(fn()), traces: table(trace()) });

describe('the words of the views', () => {
  it('are English with the values in their places', () => {
    expect(trans.__('%2 before %1, and %3', 'a', 2)).toBe('2 before a, and %3');
    expect(trans._n('%2 call', '%2 calls', 1, '1')).toBe('1 call');
    expect(trans._n('%2 call', '%2 calls', 1200, '1,200')).toBe('1,200 calls');
    expect(trans.__('%1', '%1')).toBe('%1');
  });

  it('are those of the host', () => {
    const { element, mounted } = page(SESSION, { view: 'session' });
    expect(words(element)).toContain('Functions');
    translateWith({
      __: (text, ...values) => `[${ENGLISH.__(text, ...values)}]`,
      _n: (one, many, n, ...values) => `<${ENGLISH._n(one, many, n, ...values)}>`
    });
    mounted.dispose();
    const again = page(SESSION, { view: 'session' }).element;
    const said = words(again);
    expect(said).toContain('[Functions]');
    expect(said).toContain('<0 runs>');
    expect(said).not.toMatch(/(?<!\[)Functions/);
  });
});
