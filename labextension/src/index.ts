import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { keepMarking } from './lab/cells/marking';
import { addCommands } from './lab/commands/commands';
import { CommandIDs } from './lab/commands/ids';
import { answerRequests } from './lab/commands/requests';
import { outputFactory, RANK } from './lab/outputs';
import { SessionPanel } from './lab/panel/panel';
import { openWhenLoaded, Preferences } from './lab/settings';
import { SessionTracker } from './lab/tracker';
import { translateWith } from './words';

const PLUGIN_ID = 'nbfn-labextension:plugin';

/** Shows the session of the active notebook's kernel in the right sidebar. */
const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows the TensorFlow functions and traces of the active notebook.',
  autoStart: true,
  requires: [INotebookTracker, IRenderMimeRegistry],
  optional: [
    ILabShell,
    ILayoutRestorer,
    ICommandPalette,
    ISettingRegistry,
    IConsoleTracker,
    IEditorExtensionRegistry,
    ITranslator
  ],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker,
    rendermime: IRenderMimeRegistry,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    settings: ISettingRegistry | null,
    consoles: IConsoleTracker | null,
    editors: IEditorExtensionRegistry | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('nbfn');
    translateWith(trans);
    const tracker = new SessionTracker({
      documents: consoles ? [notebooks, consoles] : [notebooks]
    });
    rendermime.addFactory(outputFactory({ tracker, trans }), RANK);
    const panel = new SessionPanel({
      tracker,
      commands: app.commands,
      trans,
      activate: documentId => app.shell.activateById(documentId)
    });
    app.shell.add(panel, 'right', { rank: 600, type: 'nbfn' });
    restorer?.add(panel, panel.id);

    // Going back from a console to the same notebook changes only the shell's current widget.
    labShell?.currentChanged.connect((_, { newValue }) => {
      tracker.activate(newValue);
    });

    const preferences = new Preferences();
    const showPanel = (): void => void app.commands.execute(CommandIDs.showPanel);
    openWhenLoaded(preferences, tracker, showPanel);
    addCommands({ app, notebooks, tracker, trans }, palette);
    answerRequests(app.commands, tracker);
    if (editors) {
      keepMarking({ editors, notebooks, preferences, tracker, trans, showPanel });
    }
    if (settings) {
      void preferences.follow(settings.load(PLUGIN_ID));
    }
  }
};

export default plugin;
