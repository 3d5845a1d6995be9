import { afterEach, describe, expect, it, vi } from 'vitest';
import type { InsertCell } from '../../src/views';
import { INSERT_CELL } from '../../src/views';
import { asked, button, one, open, page, press, words } from '../page';
import { fn, retrace, retraced, snapshot, table } from '../records';

const CHOICE = { view: 'function', target: 'f1' } as const;

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('the remedy', () => {
  it('asks the host to insert a cell with its code', async () => {
    const { element } = page(snapshot(retraced()), CHOICE);
    const writeText = vi.fn();
    vi.stubGlobal('navigator', { clipboard: { writeText } });
    const remedy = button(element, 'Leave the batch size open');
    expect(remedy.title).toContain('train_step.relax()');
    const seen = await asked<InsertCell>(INSERT_CELL, () => press(remedy));
    expect(seen).toEqual([{ code: 'train_step.relax()', cellId: 'cell-1' }]);
    expect(writeText).not.toHaveBeenCalled();
    expect(words(element)).not.toContain('Copied');
  });

  it('copies the code where no host inserts cells', async () => {
    const writeText = vi.fn().mockResolvedValue(undefined);
    vi.stubGlobal('navigator', { clipboard: { writeText } });
    const { element } = page(snapshot(retraced()), CHOICE);
    await press(button(element, 'Leave the batch size open'));
    expect(writeText).toHaveBeenCalledWith('train_step.relax()');
    expect(words(one(element, '.nbfn-Remedy [role=status]'))).toBe(
      'Copied: paste it into a cell.'
    );
  });

  it('shows the code where it cannot be copied', async () => {
    vi.stubGlobal('navigator', {});
    const { element } = page(snapshot(retraced()), CHOICE);
    await press(button(element, 'Leave the batch size open'));
    expect(one(element, 'pre').textContent).toBe('train_step.relax()');
  });

  it('stays, with its cause, while later calls hit', () => {
    const state = retraced();
    state.functions = table(
      fn({ last: 'hit', last_trace: 't1', last_retrace: 'r1', traces: 2, retraces: 1 })
    );
    const { element } = page(snapshot(state), CHOICE);
    expect(words(element)).toContain('Hit train_step');
    expect(words(element)).toContain('retraced before images float32[32, 784]');
    expect(button(element, 'Leave the batch size open').title).toContain('relax()');
  });

  it('goes when the retrace is settled', async () => {
    const state = retraced();
    state.functions = table(
      fn({ last: 'hit', last_trace: 't1', last_retrace: 'r1', retraces: 1 })
    );
    state.retraces = table(retrace({ settled: true }));
    const { element } = page(snapshot(state), CHOICE);
    expect(words(element)).not.toContain('retraced before');
    expect(element.querySelectorAll('.nbfn-Remedy')).toHaveLength(0);
    await open(one(element, 'details'));
    expect(words(element)).toContain('Settled: its trace has been replaced.');
    expect(element.querySelectorAll('.nbfn-Remedy')).toHaveLength(0);
  });

  it('is only text if it has no code', () => {
    const state = retraced();
    state.retraces = table(retrace({ remedy: { sentence: 'Pass tensors.' } }));
    const { element } = page(snapshot(state), CHOICE);
    expect(words(element)).toContain('Pass tensors.');
    expect(element.querySelectorAll('button')).toHaveLength(0);
  });
});
