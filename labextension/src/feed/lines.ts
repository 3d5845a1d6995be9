import type { Segment, TracedCellRecord } from '../protocol';

/** One line of a cell's text. */
export interface Line {
  number: number;
  text: string;
  /** Why it is Python, null if it runs in a graph; undefined without code. */
  reason: string | null | undefined;
  /** What begins on it. */
  segment: Segment | undefined;
}

/** The lines of a cell from the first with code to the last; line 1 may be a magic's. */
export function linesOf({ source, lines, segments }: TracedCellRecord): Line[] {
  const texts = source.split('\n');
  const numbers = Object.keys(lines).map(Number);
  const begun = new Map(segments.map(segment => [segment.first, segment]));
  const first = Math.min(...numbers);
  const length = numbers.length > 0 ? Math.max(...numbers) - first + 1 : 0;
  return Array.from({ length }, (_, index) => {
    const number = first + index;
    return {
      number,
      text: texts[number - 1] ?? '',
      reason: lines[number],
      segment: begun.get(number)
    };
  });
}

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
