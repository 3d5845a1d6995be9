import type { VNode } from 'preact';
import type { Cell } from '../../protocol';
import { revealCell } from './actions';

/** A place in the user's code as text, such as "In [5], line 3" or "train.py, line 7". */
export function cellText(cell: Cell): string {
  const parts: string[] = [];
  if (cell.execution_count != null) {
    parts.push(`In [${cell.execution_count}]`);
  } else if (cell.file) {
    parts.push(cell.file.split(/[\\/]/).at(-1) ?? cell.file);
  } else if (cell.id) {
    parts.push('cell');
  }
  if (cell.line != null) {
    parts.push(`line ${cell.line}`);
  }
  return parts.join(', ');
}

/** A reference to a place in the user's code; a button where the host can go there. */
export function CellReference({
  cell
}: {
  cell: Cell | null | undefined;
}): VNode | null {
  const text = cell ? cellText(cell) : '';
  if (!cell || !text) {
    return null;
  }
  const { id: cellId, path, line } = cell;
  if (!cellId && !path) {
    return (
      <span class="nbfn-CellReference" title={cell.file ?? undefined}>
        {text}
      </span>
    );
  }
  const place = cellId ? { cellId } : path ? { path } : {};
  return (
    <button
      type="button"
      class="nbfn-CellReference nbfn-mod-link"
      title={cellId ? 'Go to this cell' : (path ?? '')}
      onClick={event => {
        revealCell(event.currentTarget, line ? { ...place, line } : place);
      }}
    >
      {text}
    </button>
  );
}
