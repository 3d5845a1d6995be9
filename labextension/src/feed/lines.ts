import type { TracedCellRecord } from '../protocol';

/** What to say of a line with code. */
export function lineTitle(reason: string | null): string {
  return reason === null ? 'runs in a graph' : `Python: ${reason}`;
}

/**
 * How many lines of an editor stand above line 1 of a cell; null if it holds another text.
 *
 * IPython drops empty lines at the beginning and indentation that all lines share, and writes
 * its own magics as calls.
 */
export function linesAbove(text: string, { source }: TracedCellRecord): number | null {
  const shown = text.trimEnd().split('\n');
  const own = source.trimEnd().split('\n');
  const above = shown.findIndex(line => line.trim());
  const isSame = (line: string, index: number): boolean =>
    (index === 0 && line === '') ||
    line.includes('get_ipython()') ||
    line.trim() === shown[above + index]?.trim();
  return above >= 0 && shown.length === above + own.length && own.every(isSame)
    ? above
    : null;
}
