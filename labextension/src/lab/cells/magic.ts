/** The magic that makes a cell a traced one. */
export const MAGIC = '%%tf_function';

/** The edit that makes a text a traced cell, or a plain one again. */
interface Edit {
  /** The range to replace, and its replacement. */
  start: number;
  end: number;
  text: string;
}

/** Whether a cell with this text is traced. */
export function isTraced(source: string): boolean {
  return firstLine(source).text.split(/\s/)[0] === MAGIC;
}

/** The other cell magic that a cell begins with, which would conflict with this one; else null. */
export function otherMagic(source: string): string | null {
  const [word = ''] = firstLine(source).text.split(/\s/);
  return word.startsWith('%%') && word !== MAGIC ? word : null;
}

/** Adds the magic as the first line of a text, or removes its line with the options. */
export function toggled(source: string): Edit {
  const { start, end } = firstLine(source);
  return isTraced(source)
    ? { start, end: Math.min(end + 1, source.length), text: '' }
    : { start: 0, end: 0, text: `${MAGIC}\n` };
}

/** The first line that is not empty: magics may be below empty lines. */
export function firstLine(source: string): {
  start: number;
  end: number;
  text: string;
} {
  const blank = /^(?:[^\S\n]*\n)*/.exec(source)?.[0].length ?? 0;
  const next = source.indexOf('\n', blank);
  const end = next < 0 ? source.length : next;
  return { start: blank, end, text: source.slice(blank, end).trim() };
}
