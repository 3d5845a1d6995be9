import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

/** A cell, and the notebook that it stands in. */
export interface CellPlace {
  panel: NotebookPanel;
  index: number;
}

/** Finds a cell by its id: in the current notebook first, as copies of notebooks share ids. */
export function findCell(
  notebooks: INotebookTracker,
  cellId: string
): CellPlace | null {
  return firstPlace(notebooks, panel =>
    panel.content.widgets.findIndex(cell => cell.model.sharedModel.getId() === cellId)
  );
}

/** Finds the cell that an element of the page belongs to, such as a widget in its output. */
export function cellAround(
  notebooks: INotebookTracker,
  element: Node
): CellPlace | null {
  return firstPlace(notebooks, panel =>
    panel.content.widgets.findIndex(cell => cell.node.contains(element))
  );
}

function firstPlace(
  notebooks: INotebookTracker,
  indexIn: (panel: NotebookPanel) => number
): CellPlace | null {
  const panels: NotebookPanel[] = [];
  notebooks.forEach(panel => panels.push(panel));
  const current = notebooks.currentWidget;
  if (current) {
    panels.unshift(current);
  }
  for (const panel of panels) {
    const index = indexIn(panel);
    if (index >= 0) {
      return { panel, index };
    }
  }
  return null;
}
