import type { IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { Cell } from '@jupyterlab/cells';
import type { INotebookTracker } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ViewPlugin } from '@codemirror/view';
import type { KernelSession } from '../../feed/session';
import type { KernelState } from '../../feed/store';
import type { TracedCellRecord } from '../../protocol';
import type { Preferences } from '../settings';
import type { SessionTracker } from '../tracker';
import { showBadge } from './badge';
import { markLines } from './gutter';
import type { Badge } from './summary';
import { badgeOf } from './summary';
import { showTimes, timesIn } from './times';

/** A magic of nbfn at the beginning of a line. */
const ANY_MAGIC = /^%%?tf_/m;

/** Options of `keepMarking`. */
interface MarkingOptions {
  editors: IEditorExtensionRegistry;
  notebooks: INotebookTracker;
  preferences: Preferences;
  tracker: SessionTracker;
  trans: TranslationBundle;
  showPanel: () => void;
}

/**
 * Marks lines of cells in notebooks as graph or Python, and shows a badge beside the first line of
 * each traced cell.
 *
 * The first cell with a magic of nbfn starts the tracker; without one, no request is sent.
 */
export function keepMarking(options: MarkingOptions): void {
  const { editors, notebooks, preferences, tracker, trans, showPanel } = options;
  let session: KernelSession | null = null;
  let stop: (() => void) | undefined;
  let frame = 0;

  const mark = (cell: Cell, state: KernelState | null, records: Records): void => {
    const { editor, model } = cell;
    if (!(editor instanceof CodeMirrorEditor)) {
      return;
    }
    const id = model.sharedModel.getId();
    const record = records.get(id) ?? null;
    const text = model.sharedModel.getSource();
    const isEdited = 'isDirty' in model && model.isDirty === true;
    const badge: Badge | null =
      state && preferences.get('showBadges')
        ? badgeOf(state, { id, text, isEdited }, record, trans)
        : null;
    markLines(editor.editor, preferences.get('markLines') ? record : null);
    showBadge(editor.editor, badge, showPanel);
    const hasTimes = state && !isEdited && preferences.get('markLines');
    showTimes(editor.editor, hasTimes ? timesIn(state, id) : []);
  };
  const draw = (): void => {
    frame = 0;
    const state = session?.store.state ?? null;
    const records = newestByCell(state);
    notebooks.forEach(panel => {
      const kernel = panel.sessionContext.session?.kernel?.id;
      const isOwn = kernel === session?.kernel.id;
      if (!kernel || isOwn) {
        for (const cell of panel.content.widgets) {
          mark(cell, isOwn ? state : null, isOwn ? records : new Map());
        }
      }
    });
  };
  const request = (): void => {
    // Once a frame, however many cells and edits there are.
    frame ||= requestAnimationFrame(draw);
  };
  preferences.changed.connect(request);
  tracker.changed.connect(({ situation }) => {
    const next = situation.kind === 'session' ? situation.session : null;
    if (next !== session) {
      stop?.();
      session = next;
      let last = next?.store.state;
      stop = next?.store.subscribe(() => {
        const now = next.store.state;
        if (now?.cells !== last?.cells || now?.functions !== last?.functions) {
          request();
        }
        last = now;
      });
      request();
    }
  });

  const startIfMagic = (text: string): void => {
    if (ANY_MAGIC.test(text)) {
      tracker.start();
    }
  };
  NotebookActions.executed.connect((_, { cell }) => {
    startIfMagic(cell.model.sharedModel.getSource());
    request();
  });
  // The editor of a cell is created when it is first scrolled into view.
  const plugin = ViewPlugin.define(view => {
    startIfMagic(view.state.doc.toString());
    request();
    return {
      update: ({ docChanged }) => {
        if (docChanged) {
          request(); // The text may now equal that of the traced cell, or no longer.
        }
      }
    };
  });
  editors.addExtension({
    name: 'nbfn:lines',
    factory: () => ({ instance: () => plugin, reconfigure: () => null })
  });
}

type Records = ReadonlyMap<string, TracedCellRecord>;

/** The newest record of each notebook cell, by the cell's id. */
function newestByCell(state: KernelState | null): Records {
  const records = [...(state?.cells.values() ?? [])];
  return new Map(
    records.flatMap(record => (record.cell?.id ? [[record.cell.id, record]] : []))
  );
}
