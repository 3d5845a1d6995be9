import { cellText } from '../../../views/parts/cellReference';
import type { Node } from './node';

/** Maximum number of boxes side by side; more are drawn as groups. */
export const MAX_CHILDREN = 40;

/** From this number on, equal neighbours are a group. */
const RUN = 8;

/** Makes a group of nodes. */
type Make = (id: string, label: string, children: readonly Node[]) => Node;

/**
 * Groups nodes that are too many to be drawn side by side: neighbours of one type, or of one user
 * line if there are few lines, or else a fixed number of neighbours.
 *
 * Only neighbours are grouped: the unrolled iterations of a Python loop follow each other in the
 * graph, and would otherwise become one group for each line.
 */
export function grouped(nodes: readonly Node[], make: Make): readonly Node[] {
  if (nodes.length <= MAX_CHILDREN) {
    return nodes;
  }
  const byType = joined(nodes, ({ operation }) => operation?.type ?? null, RUN, make);
  if (byType.length <= MAX_CHILDREN) {
    return byType;
  }
  const byLine = joined(byType, lineOf, 2, make);
  return byLine.length <= MAX_CHILDREN ? byLine : inSteps(byType, make);
}

/** The label of an operation's user line. */
function lineOf({ operation, frame }: Node): string | null {
  const cell = operation && frame.graph.place(operation);
  return cell ? cellText(cell) : null;
}

/** Groups runs of at least `least` equal neighbours; a single run stays ungrouped. */
function joined(
  nodes: readonly Node[],
  kindOf: (node: Node) => string | null,
  least: number,
  make: Make
): readonly Node[] {
  const runs: { kind: string | null; nodes: Node[] }[] = [];
  for (const node of nodes) {
    const kind = kindOf(node);
    const last = runs.at(-1);
    if (last && kind !== null && last.kind === kind) {
      last.nodes.push(node);
    } else {
      runs.push({ kind, nodes: [node] });
    }
  }
  return runs.flatMap(run => {
    const [first] = run.nodes;
    return first && run.kind && run.nodes.length >= least && runs.length > 1
      ? [make(`g${first.id}-${run.nodes.length}`, run.kind, grouped(run.nodes, make))]
      : run.nodes;
  });
}

/** Groups of equal size, nested as deep as needed. */
function inSteps(nodes: readonly Node[], make: Make): readonly Node[] {
  const depth = Math.ceil(Math.log(nodes.length) / Math.log(MAX_CHILDREN));
  const groups = Math.ceil(nodes.length ** (1 / depth));
  const size = Math.ceil(nodes.length / groups);
  const found: Node[] = [];
  for (let at = 0; at < nodes.length; at += size) {
    const share = nodes.slice(at, at + size);
    const [first, last] = [share[0], share.at(-1)];
    if (first && last) {
      const label = `${first.label} … ${last.label}`;
      const children = share.length > MAX_CHILDREN ? inSteps(share, make) : share;
      found.push(
        share.length > 1 ? make(`n${first.id}-${share.length}`, label, children) : first
      );
    }
  }
  return found;
}
