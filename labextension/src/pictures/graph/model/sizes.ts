import { counted } from '../../../feed/lookup';
import { counts, duration, integer } from '../../../views/parts/format';
import { seen } from '../../../views/parts/texts';
import type { Operation } from './operations';
import { shortName } from './operations';
import type { Node } from './node';

/** Measures the width of a text. */
export type Measure = (text: string, font: Font) => number;

/** A font of the picture; the style sheet has the same sizes. */
export type Font = 'title' | 'note' | 'label';

/** Size in pixels of each font. */
export const FONTS: Readonly<Record<Font, number>> = {
  title: 12,
  note: 10.5,
  label: 10
};

/** Maximum number of characters of a name; the tooltip has the whole name. */
const MAX_LENGTH = 30;

/** The text on a box, and the box's size. */
export interface Face {
  title: string;
  notes: readonly string[];
  width: number;
  height: number;
}

/** The text on a closed box, with its time if measured. */
export function faceOf(node: Node, measure: Measure, hasTime = false): Face {
  const { operation, seconds } = node;
  const [title, ...notes] = operation ? wordsOf(operation, node.label) : boxWords(node);
  if (hasTime && seconds > 0) {
    notes.push(duration(seconds));
  }
  const words = [title ?? '', ...notes].map(text => shortened(seen(text)));
  const widths = words.map((text, index) => measure(text, index ? 'note' : 'title'));
  const width = Math.max(48, ...widths) + (node.canOpen ? 40 : 24);
  return {
    title: words[0] ?? '',
    notes: words.slice(1),
    width: Math.round(width),
    height: 26 + notes.length * 12 + (operation ? 0 : 8)
  };
}

/** The first and the second line of an operation's text. */
function wordsOf(operation: Operation, label: string): string[] {
  const { type, role, stands } = operation;
  if (role !== 'step' && role !== 'output') {
    return [stands ?? label];
  }
  const name = shortName(operation);
  const isSame = name === label && name.toLowerCase() === type.toLowerCase();
  return isSame ? [type] : [type, label];
}

function boxWords(node: Node): string[] {
  const steps = counted(
    node.operations.filter(({ role }) => role === 'step').map(({ type }) => type)
  );
  const all = (steps.length > 0 ? steps : node.types).map(
    ([type, many]) => `${integer(many)} ${type}`
  );
  let some = all.slice(0, 3);
  while (some.length > 1 && some.join(', ').length > MAX_LENGTH - 3) {
    some = some.slice(0, -1);
  }
  const more = some.length < all.length ? ', …' : '';
  const number = counts.operations(node.operations.length);
  return [node.label, number, some.join(', ') + more];
}

/** A text, shortened to fit on a box. */
export function shortened(text: string, most = MAX_LENGTH): string {
  if (text.length <= most) {
    return text;
  }
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}
