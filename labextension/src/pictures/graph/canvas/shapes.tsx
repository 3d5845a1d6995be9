import type { VNode } from 'preact';
import { seen } from '../../../views/parts/texts';
import type { Point } from '../model/container';
import type { Box, Line } from '../model/layout';
import type { Mark } from '../model/operations';
import type { Node } from '../model/node';

/** The sign of each mark, in addition to its colour. */
export const SIGNS: Readonly<Record<Mark, string>> = {
  removed: '−',
  added: '+',
  changed: '≠'
};

/** The appearance of a box. */
export interface BoxLook {
  /** The numbers of its colours, and their shares. */
  colours: readonly (readonly [number, number])[];
  /** Whether the colour is a step of a scale, for the whole box. */
  isHeat: boolean;
  isSelected: boolean;
  isFound: boolean;
  /** Whether it is an end of the part to carve. */
  carved: 'input' | 'output' | null;
}

/** A box with its text. */
export function BoxShape({ box, look }: { box: Box; look: BoxLook }): VNode {
  const { node, x, y, width, height, isOpen, face } = box;
  const { operation } = node;
  const role = operation?.role ?? 'scope';
  const isPill = ['input', 'capture', 'constant'].includes(role);
  const radius = isPill ? height / 2 : operation ? 5 : 7;
  const mark = operation?.mark ?? null;
  const { isHeat } = look;
  const only = operation || isHeat ? look.colours[0]?.[0] : undefined;
  const classes = [
    'nbfn-Graph-box',
    `nbfn-mod-${role}`,
    isOpen && 'nbfn-mod-open',
    mark && `nbfn-mod-${mark}`,
    only !== undefined && `nbfn-mod-${isHeat ? 'heat' : 'colour'}${only}`,
    look.isSelected && 'nbfn-mod-selected',
    look.isFound && 'nbfn-mod-found',
    look.carved && 'nbfn-mod-carved'
  ];
  const middle = isOpen ? 14 : width / 2;
  return (
    <g
      class={classes.filter(Boolean).join(' ')}
      data-node={node.id}
      transform={`translate(${x} ${y})`}
    >
      <title>{seen(tooltipOf(node))}</title>
      {role === 'scope' && !isOpen && (
        <rect
          class="nbfn-Graph-below"
          x={3}
          y={3}
          rx={radius}
          width={width}
          height={height}
        />
      )}
      <rect class="nbfn-Graph-face" rx={radius} width={width} height={height} />
      {look.isFound && (
        <rect
          class="nbfn-Graph-halo"
          x={-4}
          y={-4}
          rx={radius + 4}
          width={width + 8}
          height={height + 8}
        />
      )}
      {node.canOpen && <Opener isOpen={isOpen} at={isOpen ? 14 : width - 13} />}
      <text
        class="nbfn-Graph-title"
        x={isOpen ? 26 : node.canOpen ? middle - 6 : middle}
        y={17}
        text-anchor={isOpen ? 'start' : 'middle'}
      >
        {face.title}
      </text>
      {isOpen ? (
        face.notes[0] && (
          <text class="nbfn-Graph-note" x={26} y={31}>
            {face.notes[0]}
          </text>
        )
      ) : (
        <Notes notes={face.notes} middle={node.canOpen ? middle - 6 : middle} />
      )}
      {!operation && !isOpen && !isHeat && (
        <Shares colours={look.colours} width={width - 16} y={height - 8} />
      )}
      <Marks node={node} width={width} />
      {look.carved && (
        <text class="nbfn-Graph-sign" x={0} y={-4}>
          {look.carved}
        </text>
      )}
    </g>
  );
}

function Notes({ notes, middle }: { notes: readonly string[]; middle: number }): VNode {
  return (
    <>
      {notes.map((note, index) => (
        <text
          key={index}
          class="nbfn-Graph-note"
          x={middle}
          y={31 + index * 13}
          text-anchor="middle"
        >
          {note}
        </text>
      ))}
    </>
  );
}

/** The button that opens and closes a box, with a margin for touch. */
function Opener({ isOpen, at }: { isOpen: boolean; at: number }): VNode {
  return (
    <g class="nbfn-Graph-opener" data-opener transform={`translate(${at} 13)`}>
      <circle r={11} />
      <path d={isOpen ? 'M-4 -2 L0 2 L4 -2' : 'M-2 -4 L2 0 L-2 4'} />
    </g>
  );
}

/** The share of each colour in a closed box. */
function Shares(props: {
  colours: BoxLook['colours'];
  width: number;
  y: number;
}): VNode {
  const { colours, width, y } = props;
  let x = 8;
  return (
    <>
      {colours.map(([colour, share]) => {
        const at = x;
        x += share * width;
        return (
          <rect
            key={colour}
            class={`nbfn-Graph-share nbfn-mod-colour${colour}`}
            x={at}
            y={y}
            width={Math.max(1, share * width - 1)}
            height={3}
          />
        );
      })}
    </>
  );
}

/** The differences in a box: a sign for an operation, else the number of each. */
function Marks({ node, width }: { node: Node; width: number }): VNode | null {
  const texts = [...node.marks].map(([mark, many]) => ({
    mark,
    text: node.operation ? SIGNS[mark] : `${SIGNS[mark]}${many}`
  }));
  if (texts.length === 0) {
    return null;
  }
  const size = Math.max(...texts.map(({ text }) => text.length)) * 7 + 10;
  return (
    <>
      {texts.map(({ mark, text }, index) => (
        <g
          key={mark}
          class={`nbfn-Graph-mark nbfn-mod-${mark}`}
          transform={`translate(${width - (texts.length - index) * (size + 2) + size / 2} -8)`}
        >
          <rect rx={8} width={size} height={16} />
          <text x={size / 2} y={12} text-anchor="middle">
            {text}
          </text>
        </g>
      ))}
    </>
  );
}

/** A line from box to box. */
export function LineShape(props: {
  line: Line;
  isSelected: boolean;
  arrow: string;
}): VNode {
  const { line, isSelected, arrow } = props;
  const { mark } = line.edge;
  const classes = [
    'nbfn-Graph-line',
    mark && `nbfn-mod-${mark}`,
    line.edge.isControl && 'nbfn-mod-control',
    isSelected && 'nbfn-mod-selected'
  ];
  return (
    <path
      class={classes.filter(Boolean).join(' ')}
      d={curve(line.points)}
      marker-end={`url(#${arrow})`}
    />
  );
}

/** A smooth path through points from top to bottom. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) {
    return '';
  }
  let [x, y] = [round(first.x), round(first.y)];
  let path = `M${x} ${y}`;
  for (const point of rest) {
    const [nextX, nextY] = [round(point.x), round(point.y)];
    if (nextX === x) {
      path += `V${nextY}`;
    } else {
      const middle = round((y + nextY) / 2);
      path += `C${x} ${middle} ${nextX} ${middle} ${nextX} ${nextY}`;
    }
    [x, y] = [nextX, nextY];
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function tooltipOf({ operation, label, operations }: Node): string {
  return operation
    ? `${operation.name}\n${operation.type} ${operation.results.join(', ')}`
    : `${label}\n${operations.length} operations`;
}
