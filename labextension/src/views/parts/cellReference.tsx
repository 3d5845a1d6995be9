import type { VNode } from 'preact';
import { useContext } from 'preact/hooks';
import type { CodePlace } from '../../protocol';
import { trans } from '../../words';
import { revealCell } from './actions';
import { SurroundingsContext } from './presence';

/** A place in user code as text, such as "In [5], line 3" or "train.py, line 7". */
export function cellText(cell: CodePlace): string {
  const parts: string[] = [];
  if (cell.execution_count != null) {
    parts.push(`In [${cell.execution_count}]`);
  } else if (cell.file) {
    parts.push(cell.file.split(/[\\/]/).at(-1) ?? cell.file);
  } else if (cell.id) {
    parts.push(trans.__('cell'));
  }
  if (cell.line != null) {
    parts.push(trans.__('line %1', cell.line));
  }
  return parts.join(', ');
}

/** Requests the host to show a place in user code; returns whether it did. */
export function revealPlace(from: Element, cell: CodePlace): boolean {
  const { id: cellId, path, line } = cell;
  const place = cellId ? { cellId } : path ? { path } : null;
  return place !== null && revealCell(from, line ? { ...place, line } : place);
}

/** Properties of a reference to a place. */
interface PlaceProps {
  cell: CodePlace | null | undefined;
  /** The text for it, if the kernel has sent one. */
  text?: string;
}

/** A reference to a place in user code; a button if the host can show it. */
export function CellReference({ cell, ...own }: PlaceProps): VNode | null {
  const { hasCells } = useContext(SurroundingsContext);
  const text = own.text ?? (cell ? cellText(cell) : '');
  if (!cell || !text) {
    return null;
  }
  const { id: cellId, path } = cell;
  if (!hasCells || (!cellId && !path)) {
    return (
      <span class="nbfn-CellReference" title={cell.file ?? undefined}>
        {text}
      </span>
    );
  }
  return (
    <button
      type="button"
      class="nbfn-CellReference nbfn-mod-link"
      title={cellId ? trans.__('Go to this cell') : (path ?? '')}
      onClick={event => {
        revealPlace(event.currentTarget, cell);
      }}
    >
      {text}
    </button>
  );
}
