import type { Cell } from '@jupyterlab/cells';
import type { ConsolePanel } from '@jupyterlab/console';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { LOAD } from '../situation';
import type { KernelDocument } from '../tracker';
import { hasId, placeIn, showCell } from './places';

/** Code for a document. */
interface Insertion {
  code: string;
  /** Whether to run it at once. */
  run: boolean;
  /** The cell to insert below: the one with this id, else the active one; `'all'` for the last. */
  below?: { cellId?: string | undefined } | 'all';
}

/**
 * Inserts code into a document where the user sees it: as a new cell of a notebook, or at the
 * prompt of a console. It is run there if requested, so no code runs that the user cannot see.
 */
export async function insertCode(
  document: KernelDocument,
  { code, run, below = {} }: Insertion
): Promise<void> {
  if (document instanceof NotebookPanel) {
    const { content } = document;
    const model = content.model?.sharedModel;
    if (!model) {
      return;
    }
    const cellId = below === 'all' ? undefined : below.cellId;
    const named = cellId === undefined ? null : placeIn(document, hasId(cellId));
    const above =
      below === 'all'
        ? content.widgets.length - 1
        : (named?.index ?? content.activeCellIndex);
    const index = above + 1;
    model.insertCell(index, codeCell(code));
    await showCell({ panel: document, index });
    const cell = content.widgets[index];
    if (run && cell) {
      await NotebookActions.runCells(content, [cell], document.sessionContext);
    }
  } else if (isConsole(document)) {
    if (run) {
      await document.console.inject(code);
    } else {
      document.console.replaceSelection(code);
    }
  }
}

function codeCell(source: string) {
  // The user asked for this code, so its output is trusted like that of typed code.
  return { cell_type: 'code' as const, source, metadata: { trusted: true } };
}

/**
 * Loads nbfn into the kernel of a document by a cell, which is inserted at the top if missing, so
 * that the notebook loads nbfn again when it is run from its beginning.
 */
export async function loadExtension(document: KernelDocument): Promise<void> {
  if (!(document instanceof NotebookPanel)) {
    await insertCode(document, { code: LOAD, run: true });
    return;
  }
  const { content, sessionContext } = document;
  const isLoading = (cell: Cell): boolean =>
    cell.model.sharedModel.getSource().trim() === LOAD;
  if (!content.widgets.some(isLoading)) {
    content.model?.sharedModel.insertCell(0, codeCell(LOAD));
  }
  const cell = content.widgets.find(isLoading);
  if (cell) {
    await NotebookActions.runCells(content, [cell], sessionContext);
  }
}

function isConsole(document: object): document is ConsolePanel {
  // No `instanceof`: the class would load the package, which not every application has.
  return 'console' in document;
}
