/** Name of the event that asks the host to put code into a new cell. */
export const INSERT_CELL = 'nbfn:insert-cell';

/** Name of the event that asks the host to show a cell. */
export const REVEAL_CELL = 'nbfn:reveal-cell';

/** What an `nbfn:insert-cell` event asks for. */
export interface InsertCell {
  code: string;
  /** Whether to run the new cell at once. */
  run?: boolean;
  /** Id of the cell that the new one should follow; without it the host chooses. */
  cellId?: string;
}

/** What an `nbfn:reveal-cell` event asks for: a cell, or a file beside the notebook. */
export interface RevealCell {
  cellId?: string;
  /** Path of the file, relative to the folder of the notebook. */
  path?: string;
  /** The line that is meant, from 1. */
  line?: number;
}

/** Asks the host to insert a cell; answers whether a host did. */
export function insertCell(from: Element, detail: InsertCell): boolean {
  return ask(from, INSERT_CELL, detail);
}

/** Asks the host to show a cell or a file; answers whether a host did. */
export function revealCell(from: Element, detail: RevealCell): boolean {
  return ask(from, REVEAL_CELL, detail);
}

/** A host that acts on the event prevents its default. */
function ask(from: Element, name: string, detail: InsertCell | RevealCell): boolean {
  const event = new CustomEvent(name, {
    bubbles: true,
    composed: true,
    cancelable: true,
    detail
  });
  return !from.dispatchEvent(event);
}
