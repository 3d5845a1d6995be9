import type { Operation, Operations } from './operations';
import type { Home, Node } from './node';

/** A search. */
export type Wanted =
  { by: 'text'; text: string } | { by: 'place'; place: number } | { by: 'mark' };

/** The matching operations, in creation order. */
export function found(graph: Operations, wanted: Wanted): readonly Operation[] {
  switch (wanted.by) {
    case 'text': {
      const fits = wanted.text.trim() ? fitting(wanted.text.trim()) : () => false;
      return graph.all.filter(({ name, type, stands }) =>
        [name, type, stands ?? ''].some(fits)
      );
    }
    case 'place':
      return graph.all.filter(({ place }) => place === wanted.place);
    case 'mark':
      return graph.all.filter(({ mark }) => mark !== null);
  }
}

/** Whether a text contains another one, or matches a pattern with * and ?. */
function fitting(wanted: string): (text: string) => boolean {
  // All special characters but `*` and `?`, which are those of the pattern.
  const escaped = wanted.replace(/[\\^$+.()|[\]{}]/g, '\\$&');
  const pattern = escaped.replaceAll('*', '.*').replaceAll('?', '.');
  const isPattern = /[*?]/.test(wanted);
  const expression = new RegExp(isPattern ? `^${pattern}$` : pattern, 'is');
  return text => expression.test(text);
}

/** The node of an operation: where it is in the graph, or in the first call of its function. */
export function nodeOf(whole: Home, { part, number }: Operation): Node | null {
  const frame = frameOf(whole, part, new Set());
  return frame?.leaves[number] ?? null;
}

function frameOf(frame: Home, part: number, seen: Set<number>): Home | null {
  if (frame.part === part) {
    return frame;
  }
  seen.add(frame.part);
  for (const leaf of frame.leaves) {
    for (const called of leaf.operation?.calls ?? []) {
      if (!seen.has(called)) {
        const body = leaf.children.find(child => child.frame.part === called);
        const inner = body ? frameOf(body.frame, part, seen) : null;
        if (inner) {
          return inner;
        }
      }
    }
  }
  return null;
}
