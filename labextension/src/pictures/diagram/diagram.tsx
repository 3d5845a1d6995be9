import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Diagram } from '../../protocol';
import { revealPlace } from '../../views/parts/cellReference';
import { Sentence, seen } from '../../views/parts/texts';
import { trans } from '../../words';
import type { Arrow, Box } from './layout';
import { planned } from './layout';

/** Properties of a diagram. */
export interface DiagramProps {
  diagram: Diagram;
}

/** Boxes and arrows; a box with a cell is a button that shows the cell. */
export function DiagramPicture({ diagram }: DiagramProps): VNode {
  const plan = useMemo(() => planned(diagram), [diagram]);
  const { width, height } = plan;
  return (
    <div class="nbfn-Scroll nbfn-Diagram" role="group" aria-label={trans.__('Diagram')}>
      <div
        class="nbfn-Diagram-plane"
        style={{ width: `${width}px`, height: `${height}px` }}
      >
        <svg width={width} height={height} aria-hidden="true">
          <defs>
            <marker
              id="nbfn-arrow"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto-start-reverse"
            >
              <path d="M 0 0 L 8 4 L 0 8 z" fill="context-stroke" />
            </marker>
          </defs>
          {plan.arrows.map(arrow => (
            <ArrowLine
              key={`${arrow.edge.source} ${arrow.edge.target}`}
              arrow={arrow}
            />
          ))}
        </svg>
        {plan.boxes.map(box => (
          <NodeBox key={box.node.id} box={box} />
        ))}
      </div>
    </div>
  );
}

function ArrowLine({ arrow }: { arrow: Arrow }): VNode {
  const { edge, path, x, y } = arrow;
  return (
    <g
      class={edge.marked ? 'nbfn-Diagram-arrow nbfn-mod-marked' : 'nbfn-Diagram-arrow'}
    >
      <path d={path} marker-end="url(#nbfn-arrow)" />
      {edge.label && (
        <text x={x} y={y} text-anchor="middle" dominant-baseline="middle">
          {seen(edge.label)}
        </text>
      )}
    </g>
  );
}

function NodeBox({ box }: { box: Box }): VNode {
  const { node, x, y, width, height } = box;
  const { cell } = node;
  const place = {
    left: `${x}px`,
    top: `${y}px`,
    width: `${width}px`,
    minHeight: `${height}px`
  };
  const name = `nbfn-Diagram-node nbfn-mod-${node.kind}${node.marked ? ' nbfn-mod-marked' : ''}`;
  const words = (
    <>
      <span class="nbfn-Diagram-label">{seen(node.label)}</span>
      {node.lines?.map((line, index) => (
        <span key={index} class="nbfn-Diagram-line">
          <Sentence text={line} />
        </span>
      ))}
    </>
  );
  return cell?.id == null ? (
    <div class={name} style={place} title={`${node.kind} ${node.label}`}>
      {words}
    </div>
  ) : (
    <button
      type="button"
      class={name}
      style={place}
      title={trans.__('%1: go to the cell', node.label)}
      onClick={event => {
        revealPlace(event.currentTarget, cell);
      }}
    >
      {words}
    </button>
  );
}
