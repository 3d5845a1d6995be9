import type { IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import { ViewPlugin } from '@codemirror/view';
import type { KernelSession } from '../feed/session';
import type { TracedCellRecord } from '../protocol';
import { markLines } from './gutter';
import type { SessionTracker } from './tracker';

/** A magic of nbfn at the beginning of a line. */
const MAGIC = /^%%?tf_/m;

/** What marking lines needs. */
export interface MarkingOptions {
  editors: IEditorExtensionRegistry;
  notebooks: INotebookTracker;
  tracker: SessionTracker;
}

/**
 * Marks in the gutters of the notebooks which lines of a cell are graph and which are Python.
 *
 * The first cell with a magic of nbfn starts the tracker; without one, no kernel is asked.
 */
export function keepMarking({ editors, notebooks, tracker }: MarkingOptions): void {
  let session: KernelSession | null = null;
  let stop: (() => void) | undefined;
  let frame = 0;

  const draw = (): void => {
    frame = 0;
    const cells = newestByCell(session);
    notebooks.forEach(panel => {
      const kernel = panel.sessionContext.session?.kernel?.id;
      if (!kernel || kernel === session?.kernel.id) {
        markAll(panel, kernel ? cells : new Map());
      }
    });
  };
  const request = (): void => {
    frame ||= requestAnimationFrame(draw);
  };
  tracker.changed.connect(({ situation }) => {
    const next = situation.kind === 'session' ? situation.session : null;
    if (next !== session) {
      stop?.();
      session = next;
      let cells = next?.store.state?.cells;
      stop = next?.store.subscribe(() => {
        if (next.store.state?.cells !== cells) {
          cells = next.store.state?.cells;
          request();
        }
      });
    }
    request();
  });

  const consider = (text: string): void => {
    if (MAGIC.test(text)) {
      tracker.start();
    }
  };
  NotebookActions.executed.connect((_, { cell }) =>
    consider(cell.model.sharedModel.getSource())
  );
  // The editor of a cell is made when it is first scrolled to.
  const seen = ViewPlugin.define(view => {
    consider(view.state.doc.toString());
    request();
    return {};
  });
  editors.addExtension({
    name: 'nbfn:lines',
    factory: () => ({ instance: () => seen, reconfigure: () => null })
  });
}

function markAll(
  panel: NotebookPanel,
  cells: ReadonlyMap<string, TracedCellRecord>
): void {
  for (const { editor, model } of panel.content.widgets) {
    if (editor instanceof CodeMirrorEditor) {
      markLines(editor.editor, cells.get(model.sharedModel.getId()) ?? null);
    }
  }
}

/** The records by the ids of their notebook cells; of several for one, the newest. */
function newestByCell(session: KernelSession | null): Map<string, TracedCellRecord> {
  const records = [...(session?.store.state?.cells.values() ?? [])];
  return new Map(
    records.flatMap(record => (record.cell?.id ? [[record.cell.id, record]] : []))
  );
}
