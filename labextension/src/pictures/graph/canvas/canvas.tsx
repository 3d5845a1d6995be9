import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Legend } from '../model/colours';
import type { Box, Picture } from '../model/layout';
import type { Operation } from '../model/operations';
import type { Node } from '../model/node';
import type { PanZoom } from './panZoom';
import type { BoxLook } from './shapes';
import { BoxShape, LineShape } from './shapes';

/** Properties of the picture itself. */
interface CanvasProps {
  picture: Picture;
  legend: Legend;
  panZoom: PanZoom;
  height: number;
  /** Id of the node that is selected. */
  selected: string | null;
  found: ReadonlySet<Operation>;
  carved: ReadonlyMap<Operation, 'input' | 'output'>;
  /** Its name for screen readers. */
  label: string;
  onSelect: (id: string | null) => void;
  onToggle: (id: string) => void;
  onKey: (event: TargetedKeyboardEvent<SVGSVGElement>) => void;
}

let numbers = 0;

/** The boxes and lines, with pointer and keyboard interaction. */
export function Canvas(props: CanvasProps): VNode {
  const { picture, panZoom, selected, found, carved } = props;
  // An id is looked up in the whole page, which may have several pictures.
  const arrow = useMemo(() => `nbfn-arrow-${(numbers += 1)}`, []);
  const shares = useMemo(() => new Map<Node, Shares>(), [props.legend]);
  const nodeAt = (target: EventTarget | null): string | null =>
    (target as Element | null)?.closest('[data-node]')?.getAttribute('data-node') ??
    null;
  // Arrow keys are kept from the page's shortcuts, except with ctrl.
  const suppress = (event: TargetedKeyboardEvent<SVGSVGElement>): void => {
    const { ctrlKey, metaKey } = event;
    const isOwn = !ctrlKey && !metaKey;
    event.currentTarget.toggleAttribute('data-lm-suppress-shortcuts', isOwn);
  };
  return (
    <svg
      ref={panZoom.screen}
      class="nbfn-Graph-canvas"
      style={{ height: `${props.height}px` }}
      role="application"
      aria-label={props.label}
      tabindex={0}
      data-lm-suppress-shortcuts
      onKeyDown={event => {
        suppress(event);
        props.onKey(event);
      }}
      onKeyUp={suppress}
      onClick={event => {
        const id = nodeAt(event.target);
        if (id !== null && (event.target as Element).closest('[data-opener]')) {
          props.onToggle(id);
        } else {
          props.onSelect(id);
        }
      }}
      onDblClick={event => {
        const id = nodeAt(event.target);
        if (id !== null && !(event.target as Element).closest('[data-opener]')) {
          props.onToggle(id);
        }
      }}
    >
      <defs>
        <marker
          id={arrow}
          viewBox="0 0 8 8"
          refX={7.5}
          refY={4}
          markerWidth={7}
          markerHeight={7}
          orient="auto"
          markerUnits="userSpaceOnUse"
        >
          <path class="nbfn-Graph-arrow" d="M0 1 L8 4 L0 7 z" />
        </marker>
      </defs>
      <g ref={panZoom.content}>
        {picture.boxes.filter(isOpen).map(({ node, x, y, width, height }) => (
          <rect
            key={node.id}
            class="nbfn-Graph-ground"
            x={x}
            y={y}
            rx={7}
            width={width}
            height={height}
          />
        ))}
        {picture.lines.map(line => (
          <LineShape
            key={line.edge.id}
            line={line}
            arrow={arrow}
            isSelected={selected === line.edge.from.id || selected === line.edge.to.id}
          />
        ))}
        {picture.labels.map(({ key, x, y, text }) => (
          <text
            key={key}
            class="nbfn-Graph-label"
            x={x}
            y={y + 3.5}
            text-anchor="middle"
          >
            {text}
          </text>
        ))}
        {picture.boxes.map(box => shape(props, box))}
      </g>
    </svg>
  );

  function shape({ legend }: CanvasProps, box: Box): VNode {
    const { node } = box;
    const isFound = box.isOpen
      ? node.operation !== null && found.has(node.operation)
      : found.size > 0 && node.operations.some(each => found.has(each));
    const colours = shares.get(node) ?? legend.coloursOf(node);
    shares.set(node, colours);
    return (
      <BoxShape
        key={node.id}
        box={box}
        look={{
          colours,
          isHeat: legend.by === 'time',
          isSelected: node.id === selected,
          isFound,
          carved: (node.operation && carved.get(node.operation)) ?? null
        }}
      />
    );
  }
}

type Shares = BoxLook['colours'];

function isOpen(box: Box): boolean {
  return box.isOpen;
}
