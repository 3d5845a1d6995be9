/** Name of the event that requests a new cell from the host. */
export const INSERT_CELL = 'nbfn:insert-cell';

/** Name of the event that requests the host to show a cell. */
export const REVEAL_CELL = 'nbfn:reveal-cell';

/** The detail of an `nbfn:insert-cell` event. */
export interface InsertCell {
  code: string;
  /** Whether to run the new cell at once. */
  run?: boolean;
  /** Id of the cell to insert below; by default the host chooses. */
  cellId?: string;
}

/** The detail of an `nbfn:reveal-cell` event: a cell, or a file relative to the notebook. */
export interface RevealCell {
  cellId?: string;
  /** Path of the file, relative to the folder of the notebook. */
  path?: string;
  /** The line, from 1. */
  line?: number;
}

/** Requests the host to insert a cell; returns whether it did. */
export function insertCell(from: Element, detail: InsertCell): boolean {
  return ask(from, INSERT_CELL, detail);
}

/** Requests the host to show a cell or a file; returns whether it did. */
export function revealCell(from: Element, detail: RevealCell): boolean {
  return ask(from, REVEAL_CELL, detail);
}

/** A host that acts on the event prevents its default. */
function ask(from: Element, name: string, detail: InsertCell | RevealCell): boolean {
  // `composed`: a host may draw a view in a shadow root, which other events do not leave.
  const event = new CustomEvent(name, {
    bubbles: true,
    composed: true,
    cancelable: true,
    detail
  });
  return !from.dispatchEvent(event);
}
