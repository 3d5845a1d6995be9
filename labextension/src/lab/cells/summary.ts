import type { TranslationBundle } from '@jupyterlab/translation';
import { linesAbove } from '../../feed/lines';
import { functionsOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord, TracedCellRecord } from '../../protocol';
import { isTraced } from './magic';

/** The badge beside the first line of a traced cell. */
export interface Badge {
  text: string;
  title: string;
  /** Whether the text has changed since it ran. */
  isStale: boolean;
}

/** A cell's text in its editor. */
interface CellText {
  id: string;
  text: string;
  /** Whether it was edited since it ran. */
  isEdited: boolean;
}

/** The badge of a cell; null if it is not traced. */
export function badgeOf(
  state: KernelState,
  cell: CellText,
  record: TracedCellRecord | null,
  trans: TranslationBundle
): Badge | null {
  if (record) {
    const parts = [
      // A cell without the magic is run by `%tf_auto`, so its name is shown.
      ...(isTraced(cell.text) ? [] : [record.name]),
      trans._n(
        '%2 of %1 statement in graphs',
        '%2 of %1 statements in graphs',
        record.statements,
        record.graph_statements
      ),
      ...countsText(functionsOf(state, record), trans)
    ];
    const isStale = linesAbove(cell.text, record) === null;
    const reasons = record.python.map(reason => trans.__('Python: %1', reason));
    return badge(parts, isStale, [record.sentence, ...reasons], trans);
  }
  if (!isTraced(cell.text)) {
    return null;
  }
  const functions = [...state.functions.values()].filter(fn => fn.cell?.id === cell.id);
  if (functions.length === 0) {
    return null;
  }
  return badge(
    countsText(functions, trans),
    cell.isEdited,
    functions.map(fn => fn.title ?? fn.name),
    trans
  );
}

function badge(
  parts: readonly string[],
  isStale: boolean,
  lines: readonly string[],
  trans: TranslationBundle
): Badge {
  const stale = trans.__('edited since it ran');
  return {
    text: (isStale ? [stale, ...parts] : parts).join(' · '),
    title: [...lines, trans.__('Click to open the panel.')].join('\n'),
    isStale
  };
}

function countsText(
  functions: readonly FunctionRecord[],
  trans: TranslationBundle
): string[] {
  const sum = (numbers: readonly number[]): number =>
    numbers.reduce((a, b) => a + b, 0);
  const traces = sum(functions.map(fn => fn.traces));
  if (traces === 0) {
    return [trans.__('not traced yet')];
  }
  const hits = functions.flatMap(fn => fn.hits ?? []);
  const parts = [trans._n('%1 trace', '%1 traces', traces)];
  return hits.length > 0 ? [...parts, trans._n('%1 hit', '%1 hits', sum(hits))] : parts;
}
