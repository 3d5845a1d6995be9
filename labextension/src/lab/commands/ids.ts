/** Id of the panel in the shell. */
export const PANEL_ID = 'nbfn-session-panel';

/** The ids of the commands. */
export const CommandIDs = {
  showPanel: 'nbfn:show-panel',
  load: 'nbfn:load',
  toggleTraced: 'nbfn:toggle-traced',
  explain: 'nbfn:explain-retrace',
  showGraph: 'nbfn:show-graph',
  exportSession: 'nbfn:export',
  runAll: 'nbfn:run-all',
  dependencies: 'nbfn:show-dependencies',
  placement: 'nbfn:show-devices',
  report: 'nbfn:write-report',
  insertCell: 'nbfn:insert-cell',
  revealCell: 'nbfn:reveal-cell',
  revealFile: 'nbfn:reveal-file'
} as const;
