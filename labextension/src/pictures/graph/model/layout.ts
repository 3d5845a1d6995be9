import { integer } from '../../../views/parts/format';
import { seen } from '../../../views/parts/texts';
import type { Plan, Point, Segment, Size } from './container';
import { IN, OUT, planned } from './container';
import type { Edge, Seen } from './edges';
import { Edges } from './edges';
import type { Face, Measure } from './sizes';
import { faceOf, FONTS, shortened } from './sizes';
import type { Node } from './node';

/** A box in the picture, by its upper left corner. */
export interface Box extends Point, Size {
  node: Node;
  isOpen: boolean;
  face: Face;
}

/** A line in the picture. */
export interface Line {
  edge: Edge;
  points: readonly Point[];
}

/** A text beside a line. */
interface Label extends Point {
  text: string;
  key: string;
}

/** The positions of everything visible. */
export interface Picture extends Size {
  /** The boxes; an open one precedes its contents. */
  boxes: readonly Box[];
  lines: readonly Line[];
  labels: readonly Label[];
}

/** Options of the drawing, besides boxes and tensors. */
interface Shown {
  /** Dtype and shape beside the lines. */
  labels: boolean;
  /** Lines of control dependencies. */
  controls: boolean;
  /** The times in the measured call. */
  times: boolean;
}

/** The text for the spec of a variable's handle, which has no shape. */
const RESOURCE = 'resource[]';

const EDGE_OF_WHOLE = { top: 16, side: 16 };
const EDGE_OF_BOX = { top: 44, side: 16 };

/** Lays out open nodes with their contents, and closed ones as single boxes; caches layouts. */
export class Layout {
  constructor(
    private readonly _root: Node,
    private readonly _measure: Measure
  ) {}

  /**
   * The picture.
   *
   * @param open - Ids of the nodes that are open.
   * @param shown - What else is drawn.
   */
  draw(open: ReadonlySet<string>, shown: Shown): Picture {
    if (shown.times !== this._shown.times) {
      this._faces.clear();
    }
    this._shown = shown;
    const { edges, copies } = this._edges.between(this._root, open, shown.controls);
    const within = this._segments(edges, shown.labels);
    const plans = new Map<Node, Plan>();
    const whole = this._plan(this._root, open, within, copies, plans);
    return this._assembled(whole, edges, within, copies, plans);
  }

  /** The words on a closed box, and its size. */
  private _face(node: Node): Face {
    let face = this._faces.get(node);
    if (!face) {
      face = faceOf(node, this._measure, this._shown.times);
      this._faces.set(node, face);
    }
    return face;
  }

  /** The edges within each container. */
  private _segments(edges: readonly Edge[], hasLabels: boolean): Segments {
    const within: Segments = new Map();
    for (const edge of edges) {
      for (const { container, segment, isMain } of wayOf(edge)) {
        let inside = within.get(container);
        if (!inside) {
          inside = new Map();
          within.set(container, inside);
        }
        const text = isMain && hasLabels ? labelOf(edge) : '';
        const known = inside.get(segment.key);
        if (!known) {
          const label = text
            ? { width: this._measure(text, 'label') + 10, height: FONTS.label + 4 }
            : null;
          inside.set(segment.key, { ...segment, label, text });
        }
      }
    }
    return within;
  }

  private _plan(
    node: Node,
    open: ReadonlySet<string>,
    within: Segments,
    copies: Seen['copies'],
    plans: Map<Node, Plan>
  ): Plan {
    const children = this._contentOf(node, copies).map(child => {
      const isOpen = open.has(child.id) && child.canOpen;
      const { width, height } = isOpen
        ? this._plan(child, open, within, copies, plans)
        : this._face(child);
      return { id: child.id, width, height };
    });
    const segments = [...(within.get(node)?.values() ?? [])];
    const signature = JSON.stringify([children, segments]);
    const known = this._known.get(node.id);
    let plan = known?.signature === signature ? known.plan : null;
    if (!plan) {
      plan = planned(
        { children, segments },
        node === this._root ? EDGE_OF_WHOLE : EDGE_OF_BOX
      );
      const needed = this._face(node).width + EDGE_OF_BOX.side;
      if (node !== this._root && plan.width < needed) {
        plan = widened(plan, needed);
      }
      this._known.set(node.id, { signature, plan });
    }
    plans.set(node, plan);
    return plan;
  }

  private _assembled(
    whole: Plan,
    edges: readonly Edge[],
    within: Segments,
    copies: Seen['copies'],
    plans: ReadonlyMap<Node, Plan>
  ): Picture {
    const boxes: Box[] = [];
    const places = new Map<Node, Point & Size>();
    const labels: Label[] = [];
    const place = (node: Node, plan: Plan, x: number, y: number): void => {
      for (const child of this._contentOf(node, copies)) {
        const corner = plan.corners.get(child.id) ?? { x: 0, y: 0 };
        const face = this._face(child);
        const inner = plans.get(child);
        const { width, height } = inner ?? face;
        const box = { x: x + corner.x, y: y + corner.y, width, height };
        places.set(child, box);
        boxes.push({ ...box, node: child, isOpen: inner !== undefined, face });
        if (inner) {
          place(child, inner, box.x, box.y);
        }
      }
      for (const [key, at] of plan.labels) {
        const text = within.get(node)?.get(key)?.text ?? '';
        labels.push({ x: x + at.x, y: y + at.y, text, key: `${node.id} ${key}` });
      }
    };
    const { width, height } = whole;
    places.set(this._root, { x: 0, y: 0, width, height });
    place(this._root, whole, 0, 0);
    const lines = edges.map(edge => ({ edge, points: pointsOf(edge, plans, places) }));
    return { boxes, lines, labels, width, height };
  }

  /** The nodes drawn in a box; those that only order others are drawn only with control lines. */
  private _contentOf(node: Node, copies: Seen['copies']): readonly Node[] {
    const { children } = node;
    const drawn = this._shown.controls
      ? children
      : children.filter(({ operation }) => operation?.type !== 'NoOp');
    return [...(drawn.length > 0 ? drawn : children), ...(copies.get(node) ?? [])];
  }

  private _shown: Shown = { labels: true, controls: false, times: false };
  private readonly _edges = new Edges();
  private readonly _faces = new Map<Node, Face>();
  private readonly _known = new Map<string, { signature: string; plan: Plan }>();
}

type Segments = Map<Node, Map<string, Segment & { text: string }>>;

interface Step {
  container: Node;
  segment: Segment;
  /** Whether it is the middle part of an edge, which has the label. */
  isMain: boolean;
}

/** The parts of an edge: out of the boxes around its start, across, and into those around its end. */
function wayOf({ from, to }: Edge): Step[] {
  const [above, below] = [from.ancestors, to.ancestors];
  const common = above.find(node => below.includes(node));
  if (!common) {
    return [];
  }
  const out = above.slice(0, above.indexOf(common));
  const into = below.slice(0, below.indexOf(common)).reverse();
  const ports = [`${IN}${from.id}`, `${OUT}${from.id}`] as const;
  const steps: Step[] = [];
  const add = (container: Node, start: string, end: string, isMain = false): void => {
    const key = isMain ? `${from.id} ${end}` : `${start} ${end}`;
    steps.push({
      container,
      segment: { key, from: start, to: end, label: null },
      isMain
    });
  };
  let inner = from;
  for (const container of out) {
    add(container, inner.id, ports[1]);
    inner = container;
  }
  add(common, inner.id, (into[0] ?? to).id, true);
  into.forEach((container, index) => {
    add(container, ports[0], (into[index + 1] ?? to).id);
  });
  return steps;
}

function pointsOf(
  edge: Edge,
  plans: ReadonlyMap<Node, Plan>,
  places: ReadonlyMap<Node, Point>
): Point[] {
  const found: Point[] = [];
  const steps = wayOf(edge);
  steps.forEach(({ container, segment }, index) => {
    const corner = places.get(container) ?? { x: 0, y: 0 };
    const path = (plans.get(container)?.paths.get(segment.key) ?? []).map(
      ({ x, y }) => ({
        x: x + corner.x,
        y: y + corner.y
      })
    );
    // The lines inside and outside an open box meet in its border.
    if (segment.from.startsWith(IN)) {
      found.pop();
    } else if (index > 0) {
      path.shift();
    }
    found.push(...path);
  });
  return found;
}

function widened(plan: Plan, width: number): Plan {
  const by = (width - plan.width) / 2;
  const moved = ({ x, y }: Point): Point => ({ x: x + by, y });
  const all = <V, W>(
    map: ReadonlyMap<string, V>,
    change: (value: V) => W
  ): Map<string, W> => new Map([...map].map(([key, value]) => [key, change(value)]));
  return {
    width,
    height: plan.height,
    corners: all(plan.corners, moved),
    ports: all(plan.ports, x => x + by),
    paths: all(plan.paths, path => path.map(moved)),
    labels: all(plan.labels, moved)
  };
}

function labelOf({ specs, isControl }: Edge): string {
  if (isControl) {
    return '';
  }
  const kinds = new Set(specs);
  const [only] = specs;
  if (kinds.size === 1 && only === RESOURCE) {
    return '';
  }
  if (kinds.size === 1 && only !== undefined) {
    const text = shortened(seen(only), 26);
    return specs.length > 1 && text ? `${integer(specs.length)} × ${text}` : text;
  }
  return `${integer(specs.length)} tensors`;
}
