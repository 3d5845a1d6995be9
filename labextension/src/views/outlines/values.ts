import type { Phrase } from '../../protocol';
import { textOf } from '../parts/words';

/** What reads as a number with its unit, or as none. */
const NUMBER = /^(?:< )?(-?[\d.,]+(?:e-?\d+)?)(?: ?(%|[kMGT]?B|[mµ]?s|min|h)\b.*)?$/;

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

/** Whether all that a column holds are numbers. */
export function isNumeric(
  rows: readonly (readonly (string | Phrase)[])[],
  column: number
): boolean {
  const texts = rows.map(row => textOf(row[column] ?? ''));
  return (
    texts.every(text => text === '' || NUMBER.test(text)) &&
    texts.some(text => text !== '')
  );
}

/** A number in its base unit, so that "9 ms" is less than "1 s"; nothing is least. */
export function valueOf(text: string): number {
  const [, digits, unit] = NUMBER.exec(text) ?? [];
  return digits ? Number(digits.replaceAll(',', '')) * (UNITS[unit ?? ''] ?? 1) : -1;
}
