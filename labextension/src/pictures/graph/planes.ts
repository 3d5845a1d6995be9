import type { GraphRecord } from '../../protocol';
import { counts } from '../../views/parts/format';
import { trans } from '../../words';
import { measureIn } from './canvas/measure';
import type { Ends } from './model/carving';
import type { Wanted } from './model/finding';
import { found, nodeOf } from './model/finding';
import type { Box, Picture } from './model/layout';
import { Layout } from './model/layout';
import type { Node } from './model/node';
import type { Operation, Side } from './model/operations';
import { Operations } from './model/operations';
import { Frame } from './model/tree';

/** A drawn graph: one of two, or both merged. */
interface Plane {
  graph: Operations;
  whole: Frame;
  layout: Layout;
}

/** The graphs drawn of a record. */
export function planeOf(record: GraphRecord, side: Side): Plane {
  const graph = new Operations(record, side);
  const whole = new Frame(graph, 0);
  return { graph, whole, layout: new Layout(whole.root, measureIn(document.body)) };
}

/** The matching operations, each once, in creation order. */
export function foundIn(planes: readonly Plane[], wanted: Wanted): Operation[] {
  const all = new Map(
    planes
      .flatMap(({ graph }) => found(graph, wanted))
      .map(operation => [`${operation.part}:${operation.number}`, operation])
  );
  return [...all.values()].sort(
    (one, other) => one.part - other.part || one.number - other.number
  );
}

/** The node of an operation: the one nearest to the selected node, or the first. */
export function placeOf(
  planes: readonly Plane[],
  operation: Operation,
  selected: Node | null
): Node | null {
  const { part, number } = operation;
  const frame = selected?.frame;
  const first = planes.filter(({ graph }) => graph === frame?.graph);
  for (const { graph, whole } of [...first, ...planes]) {
    if (graph.of(part)[number]?.isHere) {
      // In the body of the selected node, if the function is called more than once.
      const isBeside = frame?.graph === graph && frame.part === part;
      const here = isBeside ? frame.leaves[number] : nodeOf(whole, operation);
      if (here) {
        return here;
      }
    }
  }
  return null;
}

/** The drawn nodes with an id. */
export function drawn(pictures: readonly Picture[], id: string | null): Node[] {
  return pictures.flatMap(({ boxes }) =>
    boxes.flatMap(({ node }) => (node.id === id ? [node] : []))
  );
}

/** The first differing box of two graphs. */
export function differenceIn(pictures: readonly Picture[]): Box | undefined {
  return pictures
    .flatMap(({ boxes }) => boxes)
    .find(({ isOpen, node }) => !isOpen && node.marks.size > 0);
}

/** The nodes open by default: a scope that contains everything. */
export function openedFirst({ whole }: Plane): ReadonlySet<string> {
  const [only, more] = whole.root.children;
  return new Set(only && !more && !only.operation ? [only.id] : []);
}

/** The open nodes after a box was opened, with the functions that it calls, or closed. */
export function opened(
  open: ReadonlySet<string>,
  nodes: readonly Node[]
): ReadonlySet<string> {
  const next = new Set(open);
  const [first] = nodes;
  if (first && !next.delete(first.id)) {
    next.add(first.id);
    nodes
      .filter(({ operation }) => operation)
      .forEach(({ children }) => children.forEach(({ id }) => next.add(id)));
  }
  return next;
}

/** The operations that are ends of the part to carve. */
export function carvedOf(ends: Ends): ReadonlyMap<Operation, 'input' | 'output'> {
  return new Map([
    ...ends.input.map(({ operation }) => [operation, 'input'] as const),
    ...ends.output.map(({ operation }) => [operation, 'output'] as const)
  ]);
}

/** The text of a node for screen readers. */
export function described(node: Node, open: ReadonlySet<string>): string {
  const { operation, label, operations } = node;
  if (operation) {
    return [operation.type, operation.name, ...operation.results].join(', ');
  }
  const state = open.has(node.id) ? trans.__('open') : trans.__('closed');
  return [label, counts.operations(operations.length), state].join(', ');
}
