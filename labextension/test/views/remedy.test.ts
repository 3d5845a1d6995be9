import { afterEach, describe, expect, it, vi } from 'vitest';
import type { InsertCell } from '../../src/views';
import { INSERT_CELL } from '../../src/views';
import { asked, button, one, page, press, words } from '../page';
import { outline, snapshot } from '../records';

const CHOICE = { view: 'page', page: outline() } as const;

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('the remedy', () => {
  it('asks the host to insert a cell with its code', async () => {
    const { element } = page(snapshot(), CHOICE);
    const writeText = vi.fn();
    vi.stubGlobal('navigator', { clipboard: { writeText } });
    const remedy = button(element, 'Leave the batch size open');
    expect(remedy.title).toContain('train_step.relax()');
    const seen = await asked<InsertCell>(INSERT_CELL, () => press(remedy));
    expect(seen).toEqual([{ code: 'train_step.relax()', cellId: 'cell-3' }]);
    expect(writeText).not.toHaveBeenCalled();
    expect(words(element)).not.toContain('Copied');
  });

  it('copies the code where no host inserts cells', async () => {
    const writeText = vi.fn().mockResolvedValue(undefined);
    vi.stubGlobal('navigator', { clipboard: { writeText } });
    const { element } = page(snapshot(), CHOICE);
    await press(button(element, 'Leave the batch size open'));
    expect(writeText).toHaveBeenCalledWith('train_step.relax()');
    expect(words(one(element, '.nbfn-Remedy [role=status]'))).toBe(
      'Copied: paste it into a cell.'
    );
  });

  it('shows the code where it cannot be copied', async () => {
    vi.stubGlobal('navigator', {});
    const { element } = page(snapshot(), CHOICE);
    await press(button(element, 'Leave the batch size open'));
    expect(one(element, 'pre').textContent).toBe('train_step.relax()');
  });
});
