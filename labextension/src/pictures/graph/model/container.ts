import type { EdgeLabel, GraphLabel, NodeLabel } from '@dagrejs/dagre';
import { Graph, layout } from '@dagrejs/dagre';

/** A point. */
export interface Point {
  x: number;
  y: number;
}

/** A width and a height. */
export interface Size {
  width: number;
  height: number;
}

/** An edge within a container; an end outside the container is a port in its border. */
export interface Segment {
  key: string;
  from: string;
  to: string;
  label: Size | null;
}

/** A container to lay out: its boxes and the edges between them. */
interface Content {
  children: readonly (Size & { id: string })[];
  segments: readonly Segment[];
}

/** The positions in a container, relative to its upper left corner. */
export interface Plan extends Size {
  corners: ReadonlyMap<string, Point>;
  /** The horizontal position of each port. */
  ports: ReadonlyMap<string, number>;
  paths: ReadonlyMap<string, readonly Point[]>;
  labels: ReadonlyMap<string, Point>;
}

/** The padding of a container. */
interface Frame {
  top: number;
  side: number;
}

const GAPS = { nodesep: 20, edgesep: 12, ranksep: 40 };

/** The weight of an edge that must be as short as possible. */
const TIGHT = 1000;

/** Prefixes of the ends of edges from and to the outside. */
export const [IN, OUT] = ['in ', 'out '];

/** Lays out a container from top to bottom. */
export function planned(content: Content, frame: Frame): Plan {
  const { children, segments } = content;
  const graph: Laid = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', ...GAPS });
  for (const { id, width, height } of children) {
    graph.setNode(id, { width, height });
  }
  const entries = new Set(segments.map(({ from }) => from).filter(isPort));
  const exits = new Set(segments.map(({ to }) => to).filter(isPort));
  for (const port of [...entries, ...exits]) {
    graph.setNode(port, { width: 1, height: 0 });
  }
  for (const { key, from, to, label } of segments) {
    const edge = label ? { ...label, labelpos: 'c' as const } : {};
    graph.setEdge(from, to, { ...edge, weight: 1 }, key);
  }
  const inner = segments.filter(({ from, to }) => !isPort(from) && !isPort(to));
  const ends = longest(
    children.map(({ id }) => id),
    inner
  );
  // Edges enter at the top and leave at the bottom.
  fasten(graph, 'top', entries, ends.first, false);
  fasten(graph, 'bottom', exits, ends.last, true);
  layout(graph);
  return cropped(graph, content, frame);
}

type Laid = Graph<GraphLabel, NodeLabel, EdgeLabel>;

function fasten(
  graph: Laid,
  name: string,
  ports: ReadonlySet<string>,
  end: string | undefined,
  isBelow: boolean
): void {
  if (ports.size === 0) {
    return;
  }
  graph.setNode(name, { width: 0, height: 0 });
  for (const other of [...ports, ...(end ? [end] : [])]) {
    const [from, to] = isBelow ? [other, name] : [name, other];
    graph.setEdge(from, to, { weight: TIGHT }, name);
  }
}

function cropped(graph: Laid, { children, segments }: Content, frame: Frame): Plan {
  const boxes = children.map(({ id }) => ({ id, ...rectangle(graph.node(id)) }));
  const drawn = new Map(
    segments.map(({ key, from, to }) => [key, graph.edge(from, to, key)])
  );
  const points = [...drawn.values()].flatMap(edge => edge.points ?? []);
  const across = [
    ...boxes.flatMap(({ x, width }) => [x, x + width]),
    ...points.map(({ x }) => x),
    ...[...drawn.values()].flatMap(({ x, width = 0 }) =>
      x === undefined ? [] : [x - width / 2, x + width / 2]
    )
  ];
  // The ranks of the ports take only the height of the border.
  const down = boxes.flatMap(({ y, height }) => [y, y + height]);
  const left = least(across) - frame.side;
  const top = least(down) - frame.top;
  const width = -least(across.map(x => -x)) - left + frame.side;
  const height = -least(down.map(y => -y)) - top + frame.side;
  const moved = ({ x, y }: Point): Point => ({ x: x - left, y: y - top });
  const ports = new Map<string, number>();
  for (const { from, to } of segments) {
    for (const port of [from, to].filter(isPort)) {
      ports.set(port, (graph.node(port).x ?? 0) - left);
    }
  }
  const paths = new Map<string, Point[]>();
  const labels = new Map<string, Point>();
  for (const { key, from, to, label } of segments) {
    const { points: raw = [], x, y } = drawn.get(key) ?? {};
    // A line to a port ends in the border, so its part beyond is cut off.
    const path = raw.map(moved).filter(point => point.y > 0 && point.y < height);
    if (isPort(from)) path.unshift({ x: ports.get(from) ?? 0, y: 0 });
    if (isPort(to)) path.push({ x: ports.get(to) ?? 0, y: height });
    paths.set(key, path);
    if (label && x !== undefined && y !== undefined) {
      labels.set(key, moved({ x, y }));
    }
  }
  const corners = new Map(boxes.map(({ id, x, y }) => [id, moved({ x, y })]));
  return { width, height, corners, ports, paths, labels };
}

function rectangle(node: Partial<Point> & Size): Point & Size {
  const { x = 0, y = 0, width, height } = node;
  return { x: x - width / 2, y: y - height / 2, width, height };
}

/** The maximum; without spreading, which fails for too many arguments. */
function least(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => Math.min(one, other), Infinity);
}

function isPort(end: string): boolean {
  return end.startsWith(IN) || end.startsWith(OUT);
}

/** The ends of the longest path, without the back edges of cycles. */
function longest(
  ids: readonly string[],
  segments: readonly Segment[]
): { first: string | undefined; last: string | undefined } {
  const following = new Map<string, string[]>();
  for (const { from, to } of segments) {
    following.set(from, [...(following.get(from) ?? []), to]);
  }
  const known = new Map<string, { length: number; last: string }>();
  const walk = (id: string): { length: number; last: string } => {
    const before = known.get(id);
    if (before) {
      return before;
    }
    // Known before what follows it, so that a cycle ends here.
    let found = { length: 0, last: id };
    known.set(id, found);
    for (const next of following.get(id) ?? []) {
      const { length, last } = walk(next);
      if (length >= found.length) {
        found = { length: length + 1, last };
      }
    }
    known.set(id, found);
    return found;
  };
  const first = ids.reduce<string | undefined>(
    (best, id) =>
      best === undefined || walk(id).length > walk(best).length ? id : best,
    undefined
  );
  return { first, last: first === undefined ? undefined : walk(first).last };
}
