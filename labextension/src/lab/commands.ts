import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { findCell } from './cells';
import { nbfnIcon } from './icon';

/** The ids of the commands. */
export const CommandIDs = {
  showPanel: 'nbfn:show-panel',
  insertCell: 'nbfn:insert-cell',
  revealCell: 'nbfn:reveal-cell'
} as const;

/** What the commands need. */
export interface CommandOptions {
  app: JupyterFrontEnd;
  notebooks: INotebookTracker;
  /** Id of the panel in the shell. */
  panelId: string;
  trans: TranslationBundle;
}

/** Adds the commands to the application. */
export function addCommands({ app, notebooks, panelId, trans }: CommandOptions): void {
  app.commands.addCommand(CommandIDs.showPanel, {
    label: trans.__('Show TensorFlow Functions'),
    caption: trans.__('Show the functions, traces and retraces of the active notebook'),
    icon: nbfnIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => {
      app.shell.activateById(panelId);
    }
  });

  app.commands.addCommand(CommandIDs.insertCell, {
    label: trans.__('Insert Code Below'),
    caption: trans.__('Insert a code cell with the given code'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          code: { type: 'string', description: trans.__('The code of the new cell') },
          cellId: {
            type: 'string',
            description: trans.__('The cell to insert below; by default the active one')
          },
          run: { type: 'boolean', description: trans.__('Whether to run the new cell') }
        },
        required: ['code']
      }
    },
    isEnabled: () => notebooks.currentWidget !== null,
    execute: async args => {
      const { code, cellId, run } = args;
      if (typeof code === 'string') {
        await insertCell(notebooks, code, typeof cellId === 'string' ? cellId : null);
        const panel = notebooks.currentWidget;
        if (run === true && panel) {
          await NotebookActions.run(panel.content, panel.sessionContext);
        }
      }
    }
  });

  app.commands.addCommand(CommandIDs.revealCell, {
    label: trans.__('Go to Cell'),
    caption: trans.__('Show a cell of a notebook'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          cellId: { type: 'string', description: trans.__('The id of the cell') }
        },
        required: ['cellId']
      }
    },
    execute: async ({ cellId }) => {
      const place = typeof cellId === 'string' ? findCell(notebooks, cellId) : null;
      if (place) {
        app.shell.activateById(place.panel.id);
        await show(place.panel, place.index);
      }
    }
  });
}

async function insertCell(
  notebooks: INotebookTracker,
  code: string,
  cellId: string | null
): Promise<void> {
  const place = cellId === null ? null : findCell(notebooks, cellId);
  const panel = place?.panel ?? notebooks.currentWidget;
  const model = panel?.content.model;
  if (!panel || !model) {
    return;
  }
  const index = (place?.index ?? panel.content.activeCellIndex) + 1;
  model.sharedModel.insertCell(index, {
    cell_type: 'code',
    source: code,
    // The user asked for this code, so its output is trusted like that of typed code.
    metadata: { trusted: true }
  });
  await show(panel, index);
}

async function show({ content }: NotebookPanel, index: number): Promise<void> {
  content.deselectAll();
  content.activeCellIndex = index;
  const cell = content.activeCell;
  if (cell) {
    await content.scrollToCell(cell);
  }
}
