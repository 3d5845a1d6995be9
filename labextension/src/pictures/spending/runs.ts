import type { RunRecord } from '../../protocol';
import { trans } from '../../words';

/** How the seconds of some runs were spent. */
export interface Parts {
  readonly tracing: number;
  readonly graph: number;
  readonly python: number;
}

/** How the seconds of a row were spent. */
export function partsOf(run: RunRecord): Parts {
  const { tracing, graph, seconds } = run;
  return { tracing, graph, python: Math.max(seconds - tracing - graph, 0) };
}

/** The runs of a row, such as "In [3]" or "In [3] to In [9]". */
export function runName({ cell, first, last, runs = 1 }: RunRecord): string {
  if (runs > 1) {
    return trans.__('In [%1] to In [%2]', first ?? '?', last ?? '?');
  }
  return cell.execution_count == null
    ? trans.__('a cell')
    : `In [${cell.execution_count}]`;
}

/** How runs have ended, in words; empty if all succeeded. */
export function endingOf({
  failed = 0,
  interrupted = 0,
  running,
  runs = 1
}: RunRecord): string {
  const parts = [
    running && trans.__('still running'),
    failed > 0 && (runs > 1 ? trans.__('%1 failed', failed) : trans.__('failed')),
    interrupted > 0 &&
      (runs > 1 ? trans.__('%1 interrupted', interrupted) : trans.__('interrupted'))
  ];
  return parts.filter(Boolean).join(', ');
}

/** The sum of a quantity over rows. */
export function sum<T>(rows: readonly T[], value: (row: T) => number): number {
  return rows.reduce((total, row) => total + value(row), 0);
}
