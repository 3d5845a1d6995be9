import type { INotebookTracker } from '@jupyterlab/notebook';
import type { CommandRegistry } from '@lumino/commands';
import type { InsertCell, RevealCell } from '../views/parts/actions';
import { INSERT_CELL, REVEAL_CELL } from '../views/parts/actions';
import { cellAround, findCell } from './cells';
import { CommandIDs } from './commands';

/** Answers what views on the page ask for, be they in the panel or in a cell's output. */
export function answerRequests(
  commands: CommandRegistry,
  notebooks: INotebookTracker
): void {
  document.addEventListener(INSERT_CELL, event => {
    const detail = detailOf<InsertCell>(event);
    if (typeof detail.code !== 'string' || !notebooks.currentWidget) {
      return; // Not prevented: the view helps itself.
    }
    event.preventDefault();
    const around =
      event.target instanceof Node ? cellAround(notebooks, event.target) : null;
    const cell = around?.panel.content.widgets[around.index];
    const cellId = cell?.model.sharedModel.getId() ?? detail.cellId;
    void commands.execute(CommandIDs.insertCell, {
      code: detail.code,
      run: detail.run === true,
      ...(cellId === undefined ? {} : { cellId })
    });
  });

  document.addEventListener(REVEAL_CELL, event => {
    const { cellId } = detailOf<RevealCell>(event);
    if (typeof cellId === 'string' && findCell(notebooks, cellId)) {
      event.preventDefault();
      void commands.execute(CommandIDs.revealCell, { cellId });
    }
  });
}

/** The details of an event; any script of the page can send one, so nothing is certain. */
function detailOf<T>(event: Event): Partial<T> {
  const detail: unknown = event instanceof CustomEvent ? event.detail : null;
  return typeof detail === 'object' && detail !== null ? detail : {};
}
