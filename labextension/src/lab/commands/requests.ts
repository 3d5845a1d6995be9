import { PathExt } from '@jupyterlab/coreutils';
import type { CommandRegistry } from '@lumino/commands';
import { insertCode } from '../cells/insert';
import type { CellPlace } from '../cells/places';
import { findCell, hasId, placeIn } from '../cells/places';
import type { KernelDocument, SessionTracker } from '../tracker';
import type { InsertCell, RevealCell } from '../../views/parts/actions';
import { INSERT_CELL, REVEAL_CELL } from '../../views/parts/actions';
import { CommandIDs, PANEL_ID } from './ids';

/**
 * Handles requests of views on the page, in the panel or in a cell's output.
 *
 * They are handled in the document that the view shows, whichever document is active.
 */
export function answerRequests(
  commands: CommandRegistry,
  tracker: SessionTracker
): void {
  document.addEventListener(INSERT_CELL, event => {
    const { code, run, cellId } = detailOf<InsertCell>(event);
    const place = origin(tracker, event);
    if (typeof code !== 'string' || !place.document) {
      return; // Not prevented, so the view uses its fallback.
    }
    event.preventDefault();
    const own = place.cell?.panel.content.widgets[place.cell.index];
    const named =
      own || cellId === undefined
        ? null
        : findCell(tracker, place.document, hasId(cellId));
    void insertCode(named?.panel ?? place.document, {
      code,
      run: run === true,
      below: { cellId: own?.model.sharedModel.getId() ?? cellId }
    });
  });

  document.addEventListener(REVEAL_CELL, event => {
    const { cellId, path, line } = detailOf<RevealCell>(event);
    const from = origin(tracker, event).document;
    if (typeof path === 'string' && from) {
      event.preventDefault();
      void commands.execute(CommandIDs.revealFile, {
        path: PathExt.join(PathExt.dirname(from.sessionContext.path), path),
        line: line ?? null
      });
    } else if (typeof cellId === 'string' && findCell(tracker, from, hasId(cellId))) {
      event.preventDefault();
      const documentId = from?.id;
      void commands.execute(CommandIDs.revealCell, {
        cellId,
        line: line ?? null,
        ...(documentId === undefined ? {} : { documentId })
      });
    }
  });
}

/** The document of the requesting view, and its cell if the view is an output. */
function origin(
  tracker: SessionTracker,
  { target }: Event
): { document: KernelDocument | null; cell: CellPlace | null } {
  if (!(target instanceof Element) || target.closest(`#${PANEL_ID}`)) {
    return { document: tracker.document, cell: null };
  }
  const document = tracker.documentAround(target);
  const cell = document && placeIn(document, one => one.node.contains(target));
  // An output may also be in a separate tab.
  return { document: document ?? tracker.document, cell };
}

/** The details of an event, not validated: any script of the page can send one. */
function detailOf<T>(event: Event): Partial<T> {
  const detail: unknown = event instanceof CustomEvent ? event.detail : null;
  return typeof detail === 'object' && detail !== null ? detail : {};
}
