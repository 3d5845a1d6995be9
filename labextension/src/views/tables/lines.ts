import type { PageTable, Phrase } from '../../protocol';
import { textOf } from '../parts/words';

/** The content of a cell of a table. */
export type Cell = string | Phrase;

/** A row of a table, and where it is in a tree. */
export interface Line {
  cells: readonly Cell[];
  depth: number;
  /** Its name, preceded by those of the parts that contain it. */
  path: string;
  /** Whether the next row is inside it. */
  isPart: boolean;
  /** Whether it is closed by default. */
  isClosed: boolean;
}

/** A column of a table. */
export interface Column {
  name: string;
  /** Its index in the rows. */
  number: number;
  /** Whether it contains only numbers. */
  isNumber: boolean;
  /** Whether a narrow view omits it by default. */
  isDetail: boolean;
  /** The size of a number relative to the largest. */
  shareOf: (cell: Cell) => number;
}

/** How the rows are sorted: by which column, and whether the largest is first. */
export interface Order {
  column: Column;
  isDown: boolean;
}

/** Maximum number of rows of a tree whose parts are all open by default. */
const MAX_ALL_OPEN = 40;

/** Matches a number, with or without its unit. */
const NUMBER =
  /^(?:< )?-?[\d.,]+(?:e-?\d+)?(?: ?(?:%|(?:[kMGT]?B|[mµ]?s|min|h)\b).*)?$/;

/** Matches a number with its unit or noun; for a duration, also its second part. */
const VALUE = /^(?:< )?(-?[\d.,]+(?:e-?\d+)?)(?: ?([%\p{L}]+))?(?: (\d+) (min|s)$)?/u;

const UNITS: Record<string, number> = {
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  µs: 1e-6,
  ms: 1e-3,
  min: 60,
  h: 3600
};

/** The rows of a table with their places in the tree, if it is one. */
export function linesOf({ rows, depths = [], closed = [] }: PageTable): Line[] {
  const path: string[] = [];
  const closedOnes = new Set(closed);
  const isLarge = rows.length > MAX_ALL_OPEN;
  return rows.map((cells, number) => {
    const depth = depths[number] ?? 0;
    path.length = depth;
    path.push(textOf(cells[0] ?? ''));
    const isPart = (depths[number + 1] ?? 0) > depth;
    const isClosed = isPart && (closedOnes.has(number) || (isLarge && depth > 0));
    return { cells, depth, path: path.join('/'), isPart, isClosed };
  });
}

/** The columns of a table that are not empty. */
export function columnsOf({ header, kind, rows, details = [] }: PageTable): Column[] {
  return header.flatMap((name, number) => {
    const texts = rows.map(row => textOf(row[number] ?? '')).filter(Boolean);
    if (texts.length === 0 && kind !== 'sides') {
      return [];
    }
    const largest = texts.reduce((most, text) => Math.max(most, valueOf(text)), 0);
    return {
      name,
      number,
      isNumber: kind !== 'sides' && texts.every(text => NUMBER.test(text)),
      isDetail: details.includes(number),
      shareOf: (cell: Cell) => Math.max(valueOf(textOf(cell)), 0) / (largest || 1)
    };
  });
}

/** The rows of a tree outside closed parts. */
export function visibleOf(
  lines: readonly Line[],
  isOpen: (line: Line) => boolean
): Line[] {
  let limit = Infinity;
  return lines.filter(line => {
    if (line.depth > limit) {
      return false;
    }
    limit = line.isPart && !isOpen(line) ? line.depth : Infinity;
    return true;
  });
}

/** The rows in an order; numbers by their values, so that "9 ms" is less than "1 s". */
export function sortedBy(lines: readonly Line[], order: Order | null): readonly Line[] {
  if (!order) {
    return lines;
  }
  const { column, isDown } = order;
  const text = ({ cells, path }: Line): string =>
    column.number === 0 ? path : textOf(cells[column.number] ?? '');
  const compare = column.isNumber
    ? (a: Line, b: Line) => valueOf(text(a)) - valueOf(text(b))
    : (a: Line, b: Line) => text(a).localeCompare(text(b), 'en', { numeric: true });
  return [...lines].sort((a, b) => (isDown ? compare(b, a) : compare(a, b)));
}

/** The number in a text such as "1 min 5 s" or "12 calls", in its base unit; -1 without a number. */
export function valueOf(text: string): number {
  const [, digits, unit = '', more = '0', smaller = ''] = VALUE.exec(text) ?? [];
  const value = (number: string, of: string): number =>
    Number(number.replaceAll(',', '')) * (UNITS[of] ?? 1);
  return digits ? value(digits, unit) + value(more, smaller) : -1;
}
