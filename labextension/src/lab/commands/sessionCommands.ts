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
const PATIENCE_MS = 2000;

/** Adds the commands that ask or change the session of the document that the user works in. */
export function addSessionCommands(options: CommandOptions): void {
  const { app, tracker, trans } = options;
  const isEnabled = (): boolean => !!tracker.document?.sessionContext.session?.kernel;
  const add = (id: string, own: CommandRegistry.ICommandOptions): void => {
    app.commands.addCommand(id, { describedBy: NO_ARGUMENTS, isEnabled, ...own });
  };
  /** A command whose answer is the output of a cell that it runs. */
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
      const now = await known(options);
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
      const now = await known(options);
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
      // The dialog takes time, in which the user may go elsewhere: the document is chosen before.
      const now = await known(options);
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
        // A notebook that ends with the report has just made it again.
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

/** Works without the magics too, such as after a run that failed before it loaded them. */
const REPORT = 'import nbfn\nnbfn.session()';

/** A document, and its kernel's state. */
interface Known {
  document: KernelDocument;
  state: KernelState;
}

/** The state of the current document's kernel; null, with a notification, if it has no nbfn. */
async function known({ app, tracker, trans }: CommandOptions): Promise<Known | null> {
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

/** The state of a session, which may just have been begun; null if it does not come. */
async function stateOf(session: KernelSession): Promise<KernelState | null> {
  if (!session.store.state && session.status.kind !== 'absent') {
    await new Promise<void>(resolve => {
      const end = (): void => {
        clearTimeout(timer);
        stop();
        resolve();
      };
      const timer = setTimeout(end, PATIENCE_MS);
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

/** Names that Python may take for a variable. */
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

/** What the notebook calls a function, or the cell that it is a part of; null if that is unknown. */
function expressionFor(state: KernelState, id: string): string | null {
  const cell = [...state.cells.values()].find(one => one.functions.includes(id));
  const name = cell?.name ?? state.functions.get(id)?.name ?? '';
  return NAME.test(name) ? name : null;
}

/** What has a graph to be shown: of the active cell if that has any, else all. */
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
