import type { Mark, Operation } from './operations';
import type { Home } from './node';
import { Node } from './node';

/** All tensors that flow from one visible box to another. */
export interface Edge {
  id: string;
  from: Node;
  to: Node;
  /** Dtype and shape of each tensor that flows. */
  specs: readonly string[];
  /** The common mark of the tensors, if they have one. */
  mark: Mark | null;
  /** Whether it has control dependencies only. */
  isControl: boolean;
}

/** Visible edges, and copies of captures beside their readers, by container. */
export interface Seen {
  edges: readonly Edge[];
  copies: ReadonlyMap<Node, ReadonlySet<Node>>;
}

interface Flow extends Edge {
  specs: string[];
  tensors: Set<string>;
}

/** Finds the edges between visible nodes, given the open ones. */
export class Edges {
  /**
   * The visible edges.
   *
   * A capture has no position of its own in the graph, and often many consumers. So a copy is
   * drawn beside each operation that reads it, but not beside closed boxes.
   */
  between(root: Node, open: ReadonlySet<string>, hasControls = false): Seen {
    const flows = new Map<string, Flow>();
    const copies = new Map<Node, Set<Node>>();
    this._collect(root.frame, open, hasControls, flows, copies);
    return { edges: [...flows.values()], copies };
  }

  private _collect(
    frame: Home,
    open: ReadonlySet<string>,
    hasControls: boolean,
    flows: Map<string, Flow>,
    copies: Map<Node, Set<Node>>
  ): void {
    const boxes: Node[] = [];
    const walk = (node: Node): void => {
      const isOpen = node === frame.root || open.has(node.id);
      if (node.operation) {
        boxes[node.operation.number] = node;
        if (isOpen && node.canOpen) {
          node.children
            .filter(({ id }) => open.has(id))
            .forEach(body =>
              this._collect(body.frame, open, hasControls, flows, copies)
            );
        }
      } else if (isOpen) {
        node.children.forEach(walk);
      } else {
        for (const { number } of node.operations) {
          boxes[number] = node;
        }
      }
    };
    walk(frame.root);
    const operations = frame.graph.of(frame.part);
    for (const operation of operations) {
      for (const taken of operation.inputs) {
        const source = frame.graph.source(operation, taken);
        const to = boxes[operation.number];
        let from = boxes[taken.source];
        const isBeside = from?.operation && from.parent === to?.parent;
        if (source?.role === 'capture' && from && to && !isBeside) {
          from = to.operation ? this._copy(from, source, to, copies) : undefined;
        }
        if (source && from && to && from !== to) {
          add(flows, from, to, source, operation, taken.result);
        }
      }
    }
    // Control dependencies come last: they are not drawn where a tensor flows.
    for (const operation of hasControls ? operations : []) {
      const to = boxes[operation.number];
      for (const number of operation.controls) {
        const [from, source] = [boxes[number], operations[number]];
        if (from && to && source && from !== to && !flows.has(`${from.id} ${to.id}`)) {
          const mark = markBetween(source, operation);
          const [id, specs, tensors] = [`${from.id} ${to.id}`, [], new Set<string>()];
          flows.set(id, { id, from, to, specs, tensors, mark, isControl: true });
        }
      }
    }
  }

  /** The node of a captured tensor in the box of the operation that reads it. */
  private _copy(
    { frame }: Node,
    source: Operation,
    { parent }: Node,
    copies: Map<Node, Set<Node>>
  ): Node | undefined {
    if (!parent) {
      return undefined;
    }
    const id = `${parent.id} ${source.number}`;
    let copy = this._copies.get(id);
    if (!copy) {
      copy = new Node(id, 'operation', source.name, frame, source, []);
      copy.parent = parent;
      this._copies.set(id, copy);
    }
    const known = copies.get(parent) ?? new Set();
    copies.set(parent, known.add(copy));
    return copy;
  }

  private readonly _copies = new Map<string, Node>();
}

function add(
  flows: Map<string, Flow>,
  from: Node,
  to: Node,
  source: Operation,
  target: Operation,
  result: number
): void {
  const id = `${from.id} ${to.id}`;
  const mark = markBetween(source, target);
  let flow = flows.get(id);
  if (!flow) {
    flow = { id, from, to, specs: [], tensors: new Set(), mark, isControl: false };
    flows.set(id, flow);
  } else if (flow.mark !== mark) {
    flow.mark = null;
  }
  const tensor = `${source.number}:${result}`;
  if (!flow.tensors.has(tensor)) {
    flow.tensors.add(tensor);
    flow.specs.push(source.results[result] ?? '');
  }
}

function markBetween(
  { mark: one }: Operation,
  { mark: other }: Operation
): Mark | null {
  const marks = [one, other];
  return (['removed', 'added'] as const).find(mark => marks.includes(mark)) ?? null;
}
