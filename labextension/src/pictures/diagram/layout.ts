import type { EdgeLabel, GraphLabel, NodeLabel } from '@dagrejs/dagre';
import { Graph, layout } from '@dagrejs/dagre';
import type { Diagram, DiagramEdge, DiagramNode } from '../../protocol';

/** Widths and heights in pixels; diagram.css has the same font sizes. */
const [CHARACTER, LINE, PADDING, MAX_WIDTH] = [6.7, 17, 18, 300];
const GAPS = { nodesep: 14, edgesep: 10, ranksep: 46, marginx: 8, marginy: 8 };

/** A box, by its upper left corner. */
export interface Box {
  node: DiagramNode;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** An arrow as an SVG path, and the position of its label. */
export interface Arrow {
  edge: DiagramEdge;
  path: string;
  x: number;
  y: number;
}

/** The positions of all elements. */
interface Plan {
  width: number;
  height: number;
  boxes: Box[];
  arrows: Arrow[];
}

/** Lays out a diagram from left to right. */
export function planned({ nodes, edges }: Diagram): Plan {
  const graph = new Graph<GraphLabel, NodeLabel, EdgeLabel>();
  graph.setGraph({ rankdir: 'LR', ...GAPS });
  for (const node of nodes) {
    graph.setNode(node.id, sizeOf(node));
  }
  for (const { source, target, label } of edges) {
    const width = label ? label.length * CHARACTER + 8 : 1;
    graph.setEdge(source, target, { width, height: LINE, labelpos: 'c' });
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    boxes: nodes.map(node => boxOf(node, graph.node(node.id))),
    arrows: edges.map(edge => arrowOf(edge, graph.edge(edge.source, edge.target)))
  };
}

function sizeOf({ label, lines = [] }: DiagramNode): { width: number; height: number } {
  const longest = Math.max(...[label, ...lines].map(text => text.length));
  const width = Math.min(MAX_WIDTH, longest * CHARACTER + PADDING);
  const rows = lines.map(text =>
    Math.ceil((text.length * CHARACTER) / (MAX_WIDTH - PADDING))
  );
  return { width, height: LINE * (1 + rows.reduce((sum, n) => sum + n, 0)) + 10 };
}

function boxOf(node: DiagramNode, at: NodeLabel): Box {
  const { x = 0, y = 0, width, height } = at;
  return { node, x: x - width / 2, y: y - height / 2, width, height };
}

function arrowOf(edge: DiagramEdge, at: EdgeLabel): Arrow {
  const points = at.points ?? [];
  const [first, ...rest] = points.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`);
  return {
    edge,
    path: first ? `M ${first} ${rest.map(point => `L ${point}`).join(' ')}` : '',
    x: at.x ?? 0,
    y: at.y ?? 0
  };
}
