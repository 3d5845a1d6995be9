import type { TracedCellRecord } from '../protocol';

/** The title of a line's mark: whether it runs in a graph, or why it is Python. */
export function lineTitle(reason: string | null): string {
  return reason === null ? 'runs in a graph' : `Python: ${reason}`;
}

/**
 * The number of lines in an editor above line 1 of the cell; null if the editor has another text.
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
