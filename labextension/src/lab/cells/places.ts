import type { Cell } from '@jupyterlab/cells';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import { NotebookPanel } from '@jupyterlab/notebook';
import type { KernelDocument, SessionTracker } from '../tracker';

/** A cell's place: its notebook and index. */
export interface CellPlace {
  panel: NotebookPanel;
  index: number;
}

/** Tests a cell. */
type Test = (cell: Cell) => boolean;

/** Tests whether a cell has this id. */
export function hasId(cellId: string): Test {
  return cell => cell.model.sharedModel.getId() === cellId;
}

/** The first cell of a document that passes a test; null if there is none or it is no notebook. */
export function placeIn(document: KernelDocument, test: Test): CellPlace | null {
  if (!(document instanceof NotebookPanel)) {
    return null;
  }
  const index = document.content.widgets.findIndex(test);
  return index < 0 ? null : { panel: document, index };
}

/**
 * Finds a cell in a document, then in those that share its kernel. Other documents are not
 * searched, because copies of a notebook have the same cell ids.
 */
export function findCell(
  tracker: SessionTracker,
  document: KernelDocument | null,
  test: Test
): CellPlace | null {
  const kernel = document?.sessionContext.session?.kernel?.id;
  const sharing = tracker.all.filter(
    one =>
      one !== document && kernel && one.sessionContext.session?.kernel?.id === kernel
  );
  for (const one of [...(document ? [document] : []), ...sharing]) {
    const place = placeIn(one, test);
    if (place) {
      return place;
    }
  }
  return null;
}

/** Makes a cell the active one, scrolls to it, and selects one of its lines, counted from 1. */
export async function showCell(
  { panel, index }: CellPlace,
  line?: number | null
): Promise<void> {
  const { content } = panel;
  content.deselectAll();
  content.activeCellIndex = index;
  const cell = content.activeCell;
  if (cell) {
    await content.scrollToCell(cell);
    await cell.ready; // The editor of a cell is created when it is first scrolled into view.
    if (line && cell.editor) {
      selectLine(cell.editor, line);
    }
  }
}

/** Selects a line of an editor, counted from 1, if it exists. */
export function selectLine(editor: CodeEditor.IEditor, line: number): void {
  const text = editor.getLine(line - 1);
  if (text !== undefined) {
    const start = { line: line - 1, column: 0 };
    editor.setSelection({ start, end: { line: line - 1, column: text.length } });
    editor.revealPosition(start);
  }
}
