import type { ICommandPalette } from '@jupyterlab/apputils';
import { nbfnIcon } from '../icon';
import { addCellCommands } from './cellCommands';
import { CommandIDs, PANEL_ID } from './ids';
import type { CommandOptions } from './options';
import { NO_ARGUMENTS } from './options';
import { addSessionCommands } from './sessionCommands';

/** Adds the commands to the application, and those for users to the palette. */
export function addCommands(
  options: CommandOptions,
  palette: ICommandPalette | null
): void {
  const { app, trans } = options;
  app.commands.addCommand(CommandIDs.showPanel, {
    label: trans.__('Show TensorFlow Functions'),
    caption: trans.__('Show the functions, traces and retraces of the active notebook'),
    icon: nbfnIcon,
    describedBy: NO_ARGUMENTS,
    execute: () => {
      app.shell.activateById(PANEL_ID);
    }
  });
  addSessionCommands(options);
  addCellCommands(options);
  for (const command of [
    CommandIDs.showPanel,
    CommandIDs.load,
    CommandIDs.toggleTraced,
    CommandIDs.explain,
    CommandIDs.showGraph,
    CommandIDs.exportSession,
    CommandIDs.runAll,
    CommandIDs.dependencies,
    CommandIDs.placement,
    CommandIDs.report
  ]) {
    // The palette searches the category too, so the name of the project finds them all.
    palette?.addItem({ command, category: trans.__('nbfn: TensorFlow Functions') });
  }
}
