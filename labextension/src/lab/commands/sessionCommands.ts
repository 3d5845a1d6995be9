import { InputDialog, Notification } from '@jupyterlab/apputils';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { CommandRegistry } from '@lumino/commands';
import { functionsOf, lastRetrace } from '../../feed/lookup';
import type { KernelSession } from '../../feed/session';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord } from '../../protocol';
import { insertCode, loadExtension } from '../cells/insert';
import { nbfnIcon } from '../icon';
import { LOAD } from '../situation';
import type { KernelDocument } from '../tracker';
import { CommandIDs } from './ids';
import type { CommandOptions } from './options';
import { NO_ARGUMENTS, TOAST } from './options';

/** Maximum time for a kernel with nbfn to send its state. */
const TIMEOUT_MS = 2000;

/** Adds the commands for the session of the active document. */
export function addSessionCommands(options: CommandOptions): void {
  const { app, tracker, trans } = options;
  const isEnabled = (): boolean => !!tracker.document?.sessionContext.session?.kernel;
  const add = (id: string, own: CommandRegistry.ICommandOptions): void => {
    app.commands.addCommand(id, { describedBy: NO_ARGUMENTS, isEnabled, ...own });
  };
  /** Adds a command that runs a cell, whose output is the result. */
  const ask = (id: string, label: string, caption: string, code: string): void =>
    add(id, {
      label,
      caption,
      execute: async () => {
        if (tracker.document) {
          await insertCode(tracker.document, { code, run: true });
        }
      }
    });

  add(CommandIDs.load, {
    label: trans.__('Load nbfn'),
    caption: trans.__('Run %load_ext nbfn in the first cell of the notebook'),
    icon: nbfnIcon,
    execute: async () => {
      tracker.start();
      if (tracker.document) {
        await loadExtension(tracker.document);
      }
    }
  });

  add(CommandIDs.explain, {
    label: trans.__('Explain the Last Retrace'),
    caption: trans.__('Run a cell that says why the last call retraced'),
    execute: async () => {
      const now = await documentState(options);
      const retrace = now && lastRetrace(now.state);
      if (now && !retrace) {
        Notification.info(trans.__('No call has retraced.'), TOAST);
      } else if (retrace) {
        const name = expressionFor(now.state, retrace.function);
        await insertCode(now.document, {
          code: name === null ? '%tf_traces' : `%tf_explain ${name}`,
          run: true,
          below: { cellId: retrace.cell?.id ?? undefined }
        });
      }
    }
  });

  add(CommandIDs.showGraph, {
    label: trans.__('Show a Graph'),
    caption: trans.__('Run a cell that shows the newest graph of a function'),
    execute: async () => {
      const now = await documentState(options);
      if (!now) {
        return;
      }
      const names = graphNames(now.state, activeCellId(now.document));
      if (names.length === 0) {
        Notification.info(trans.__('No function has been traced yet.'), TOAST);
        return;
      }
      const [only] = names;
      const name =
        names.length === 1
          ? only
          : (
              await InputDialog.getItem({
                title: trans.__('Show a Graph'),
                label: trans.__('Function'),
                items: names,
                okLabel: trans.__('Show')
              })
            ).value;
      if (name) {
        await insertCode(now.document, { code: `%tf_graph ${name}`, run: true });
      }
    }
  });

  add(CommandIDs.exportSession, {
    label: trans.__('Export the Session…'),
    caption: trans.__('Run a cell that writes all traced functions as a SavedModel'),
    execute: async () => {
      // The document is chosen first: while the dialog is open, another one may become active.
      const now = await documentState(options);
      if (!now) {
        return;
      }
      const { value } = await InputDialog.getText({
        title: trans.__('Export the Session'),
        label: trans.__('Folder of the SavedModel, which must be new'),
        text: 'model',
        okLabel: trans.__('Export')
      });
      const path = value?.trim();
      if (path && !now.document.isDisposed) {
        const code = [
          'import nbfn',
          'display(nbfn.preflight())',
          // A string of JSON is one of Python, too.
          `nbfn.export(${JSON.stringify(path)})`
        ].join('\n');
        await insertCode(now.document, { code, run: true });
      }
    }
  });

  add(CommandIDs.runAll, {
    label: trans.__('Run All Cells and Report'),
    caption: trans.__('Run all cells, and then one that shows the session'),
    isEnabled: () => isEnabled() && tracker.document instanceof NotebookPanel,
    execute: async () => {
      const { document } = tracker;
      if (document instanceof NotebookPanel) {
        const { content, sessionContext } = document;
        const last = content.widgets.at(-1)?.model.sharedModel.getSource().trim();
        await NotebookActions.runAll(content, sessionContext);
        // A notebook that ends with the report has just updated it.
        if (!document.isDisposed && last !== REPORT) {
          await insertCode(document, { code: REPORT, run: true, below: 'all' });
        }
      }
    }
  });

  ask(
    CommandIDs.dependencies,
    trans.__('Show What Is Stale'),
    trans.__('Run a cell that shows what depends on what, and what to run again'),
    'import nbfn\nnbfn.session().dependencies'
  );
  ask(
    CommandIDs.placement,
    trans.__('Show the Devices'),
    trans.__('Run a cell that shows what each device holds and has run'),
    'import nbfn\nnbfn.session().placement'
  );
  ask(
    CommandIDs.report,
    trans.__('Write a Report'),
    trans.__('Run a cell that writes the session to one HTML file'),
    'import nbfn\nnbfn.report("report.html")'
  );
}

/** Works without the magics, such as after a run that failed before it loaded them. */
const REPORT = 'import nbfn\nnbfn.session()';

/** A document, and its kernel's state. */
interface DocumentState {
  document: KernelDocument;
  state: KernelState;
}

/** The state of the current document's kernel; null, with a notification, if it has no nbfn. */
async function documentState({
  app,
  tracker,
  trans
}: CommandOptions): Promise<DocumentState | null> {
  tracker.start();
  const { document, situation } = tracker;
  const session = situation.kind === 'session' ? situation.session : null;
  const state = session && (await stateOf(session));
  if (document && state) {
    return { document, state };
  }
  if (session?.status.kind === 'absent') {
    Notification.warning(trans.__('nbfn is not loaded in this kernel.'), {
      ...TOAST,
      actions: [
        {
          label: trans.__('Load nbfn'),
          caption: LOAD,
          callback: () => void app.commands.execute(CommandIDs.load)
        }
      ]
    });
  } else {
    Notification.warning(trans.__('The kernel has not answered yet.'), TOAST);
  }
  return null;
}

/** The state of a session, which may have just begun; null if it does not arrive in time. */
async function stateOf(session: KernelSession): Promise<KernelState | null> {
  if (!session.store.state && session.status.kind !== 'absent') {
    await new Promise<void>(resolve => {
      const end = (): void => {
        clearTimeout(timer);
        stop();
        resolve();
      };
      const timer = setTimeout(end, TIMEOUT_MS);
      const stop = session.onChange(() => {
        if (session.store.state ?? session.status.kind === 'absent') {
          end();
        }
      });
    });
  }
  return session.store.state;
}

function activeCellId(document: KernelDocument): string | null {
  return document instanceof NotebookPanel
    ? (document.content.activeCell?.model.sharedModel.getId() ?? null)
    : null;
}

/** Matches names of Python variables. */
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** The notebook's name for a function, or for the cell that it is part of; null if unknown. */
function expressionFor(state: KernelState, id: string): string | null {
  const cell = [...state.cells.values()].find(one => one.functions.includes(id));
  const name = cell?.name ?? state.functions.get(id)?.name ?? '';
  return NAME.test(name) ? name : null;
}

/** The names of functions with a graph: those of the active cell if there are any, else all. */
function graphNames(state: KernelState, cellId: string | null): string[] {
  const hasGraph = (fn: FunctionRecord): boolean => fn.traces > 0;
  const inCells = new Set([...state.cells.values()].flatMap(cell => cell.functions));
  const functions = [...state.functions.values()]
    .filter(fn => hasGraph(fn) && !inCells.has(fn.id) && NAME.test(fn.name))
    .map(fn => ({ name: fn.name, cell: fn.cell?.id }));
  const segments = [...state.cells.values()]
    .filter(cell => NAME.test(cell.name))
    .flatMap(cell =>
      functionsOf(state, cell).flatMap((fn, index) =>
        hasGraph(fn)
          ? [{ name: `${cell.name}.functions[${index}]`, cell: cell.cell?.id }]
          : []
      )
    );
  const all = [...functions, ...segments];
  const here = all.filter(one => one.cell === cellId);
  return [...new Set((here.length > 0 ? here : all).map(one => one.name))];
}
