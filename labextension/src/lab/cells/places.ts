import type { Cell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import type { KernelDocument, SessionTracker } from '../tracker';

/** A cell, and the notebook that it stands in. */
export interface CellPlace {
  panel: NotebookPanel;
  index: number;
}

/** Says of a cell whether it is the one that is looked for. */
type Test = (cell: Cell) => boolean;

/** Tests whether a cell has this id. */
export function hasId(cellId: string): Test {
  return cell => cell.model.sharedModel.getId() === cellId;
}

/** The first cell of a document that passes a test; null if it is no notebook, or has none. */
export function placeIn(document: KernelDocument, test: Test): CellPlace | null {
  if (!(document instanceof NotebookPanel)) {
    return null;
  }
  const index = document.content.widgets.findIndex(test);
  return index < 0 ? null : { panel: document, index };
}

/**
 * Finds a cell for what a document shows: in the document itself, then in those that share its
 * kernel. Copies of notebooks share the ids of cells, so nowhere else.
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

/** Makes a cell the active one, and scrolls to it. */
export async function showCell({ panel, index }: CellPlace): Promise<void> {
  const { content } = panel;
  content.deselectAll();
  content.activeCellIndex = index;
  const cell = content.activeCell;
  if (cell) {
    await content.scrollToCell(cell);
  }
}
