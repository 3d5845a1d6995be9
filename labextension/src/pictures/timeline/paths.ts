import type { CauseGroup } from './causes';
import { causeSign } from './causes';
import type { Mark } from './marks';
import { causeOfMark, partsOfMark } from './marks';

/**
 * Marks as one path for each colour: a page draws a thousand bars of one path faster than a
 * hundred elements.
 */
export function barPath(marks: readonly Mark[], y: number, height: number): string {
  return marks.map(({ x, width }) => bar(x, y, width, height)).join('');
}

/** How the seconds of cells were spent, as shares of the height of their bars. */
export function partPaths(
  marks: readonly Mark[],
  y: number,
  height: number
): { tracing: string; graph: string; python: string } {
  const paths = { tracing: '', graph: '', python: '' };
  for (const mark of marks) {
    const parts = partsOfMark(mark);
    const all = parts.tracing + parts.graph + parts.python || 1;
    let bottom = y + height;
    for (const name of ['python', 'graph', 'tracing'] as const) {
      const size = (parts[name] / all) * height;
      bottom -= size;
      if (size > 0) {
        paths[name] += bar(mark.x, bottom, mark.width, size);
      }
    }
  }
  return paths;
}

/** Traces, by the subject of the retrace's cause; first traces have none. */
export function causePaths(
  marks: readonly Mark[],
  y: number,
  height: number
): Record<CauseGroup | 'tracing', string> {
  const paths = { tracing: '', tensor: '', python: '', code: '', other: '' };
  for (const mark of marks) {
    const cause = causeOfMark(mark);
    const name = cause ? causeSign(cause.code).group : 'tracing';
    paths[name] += bar(mark.x, y, mark.width, height);
  }
  return paths;
}

function bar(x: number, y: number, width: number, height: number): string {
  // A pixel separates neighbours.
  const inner = width > 3 ? width - 1 : width;
  const [left, right] = [x.toFixed(1), inner.toFixed(1)];
  return `M${left} ${y.toFixed(1)}h${right}v${height.toFixed(1)}h-${right}z`;
}
