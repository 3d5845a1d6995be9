import { Notification } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import { insertCode } from '../cells/insert';
import { isTraced, MAGIC, otherMagic, toggled } from '../cells/magic';
import { findCell, hasId, selectLine, showCell } from '../cells/places';
import { nbfnIcon } from '../icon';
import { CommandIDs } from './ids';
import type { CommandOptions } from './options';
import { NO_ARGUMENTS, TOAST } from './options';

/** A document with an editor; its package is not loaded for this. */
interface EditorWidget {
  readonly context: { readonly ready: Promise<void> };
  readonly content: { readonly editor: CodeEditor.IEditor };
}

function isEditor(value: unknown): value is EditorWidget {
  return (
    typeof value === 'object' &&
    value !== null &&
    'context' in value &&
    'content' in value &&
    typeof value.content === 'object' &&
    value.content !== null &&
    'editor' in value.content
  );
}

/** Adds the commands that change, insert and show cells. */
export function addCellCommands(options: CommandOptions): void {
  const { app, notebooks, tracker, trans } = options;
  const { commands } = app;

  const activeCell = (): Cell | null => {
    const panel = notebooks.currentWidget;
    const language = panel?.model?.defaultKernelLanguage ?? '';
    const cell = panel?.content.activeCell ?? null;
    const isPython = language === '' || language === 'python';
    return cell?.model.type === 'code' && isPython ? cell : null;
  };
  const isActiveTraced = (): boolean => {
    const source = activeCell()?.model.sharedModel.getSource();
    return source !== undefined && isTraced(source);
  };

  commands.addCommand(CommandIDs.toggleTraced, {
    label: trans.__('Trace This Cell'),
    caption: () =>
      isActiveTraced()
        ? trans.__('Run this cell as plain Python again: remove %1', MAGIC)
        : trans.__('Run this cell as graphs where possible: add %1', MAGIC),
    icon: nbfnIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: () => activeCell() !== null,
    isVisible: () => activeCell() !== null,
    isToggleable: true,
    isToggled: isActiveTraced,
    execute: () => {
      const model = activeCell()?.model.sharedModel;
      const magic = model ? otherMagic(model.getSource()) : null;
      if (magic !== null) {
        Notification.warning(
          trans.__(
            'This cell begins with %1, and a cell can have only one cell magic: remove it first.',
            magic
          ),
          TOAST
        );
      } else if (model) {
        const { start, end, text } = toggled(model.getSource());
        model.updateSource(start, end, text);
        commands.notifyCommandChanged(CommandIDs.toggleTraced);
      }
    }
  });
  notebooks.activeCellChanged.connect(() => {
    commands.notifyCommandChanged(CommandIDs.toggleTraced);
  });

  commands.addCommand(CommandIDs.insertCell, {
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
    isEnabled: () => tracker.document !== null,
    execute: async ({ code, cellId, run }) => {
      const { document } = tracker;
      if (document && typeof code === 'string') {
        const below = { cellId: typeof cellId === 'string' ? cellId : undefined };
        await insertCode(document, { code, run: run === true, below });
      }
    }
  });

  commands.addCommand(CommandIDs.revealCell, {
    label: trans.__('Go to Cell'),
    caption: trans.__('Show a cell of a notebook'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          cellId: { type: 'string', description: trans.__('The id of the cell') },
          documentId: {
            type: 'string',
            description: trans.__('The id of the notebook that is meant')
          },
          line: {
            type: ['integer', 'null'],
            description: trans.__('The line that is meant, from 1')
          }
        },
        required: ['cellId']
      }
    },
    execute: async ({ cellId, documentId, line }) => {
      const asking = tracker.all.find(one => one.id === documentId) ?? tracker.document;
      const place =
        typeof cellId === 'string' ? findCell(tracker, asking, hasId(cellId)) : null;
      if (place) {
        app.shell.activateById(place.panel.id);
        await showCell(place, typeof line === 'number' ? line : null);
      }
    }
  });

  commands.addCommand(CommandIDs.revealFile, {
    label: trans.__('Go to Line of File'),
    caption: trans.__('Open a file in an editor, and select a line of it'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          path: { type: 'string', description: trans.__('The path of the file') },
          line: {
            type: ['integer', 'null'],
            description: trans.__('The line that is meant, from 1')
          }
        },
        required: ['path']
      }
    },
    execute: async ({ path, line }) => {
      const opened: unknown = await commands.execute('docmanager:open', {
        path: typeof path === 'string' ? path : '',
        factory: 'Editor'
      });
      if (isEditor(opened) && typeof line === 'number') {
        await opened.context.ready;
        selectLine(opened.content.editor, line);
      }
    }
  });
}
