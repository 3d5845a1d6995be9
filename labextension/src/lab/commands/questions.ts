import { insertCode } from '../cells/insert';
import { CommandIDs } from './ids';
import type { CommandOptions } from './options';
import { NO_ARGUMENTS } from './options';

/** A command that runs a cell. */
interface Question {
  id: string;
  label: string;
  caption: string;
  code: string;
}

/** Adds the commands whose answer is the output of a cell that they run. */
export function addQuestions({ app, tracker, trans }: CommandOptions): void {
  const questions: Question[] = [
    {
      id: CommandIDs.dependencies,
      label: trans.__('Show What Is Stale'),
      caption: trans.__(
        'Run a cell that shows what depends on what, and what to run again'
      ),
      code: 'import nbfn\nnbfn.session().dependencies'
    },
    {
      id: CommandIDs.placement,
      label: trans.__('Show the Devices'),
      caption: trans.__('Run a cell that shows what each device holds and has run'),
      code: 'import nbfn\nnbfn.session().placement'
    },
    {
      id: CommandIDs.report,
      label: trans.__('Write a Report'),
      caption: trans.__('Run a cell that writes the session to one HTML file'),
      code: 'import nbfn\nnbfn.report("report.html")'
    }
  ];
  for (const { id, label, caption, code } of questions) {
    app.commands.addCommand(id, {
      label,
      caption,
      describedBy: NO_ARGUMENTS,
      isEnabled: () => !!tracker.document?.sessionContext.session?.kernel,
      execute: async () => {
        if (tracker.document) {
          await insertCode(tracker.document, { code, run: true });
        }
      }
    });
  }
}
