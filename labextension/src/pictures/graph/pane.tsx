import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { seen } from '../../views/parts/texts';
import { Canvas } from './canvas/canvas';
import type { Linked } from './canvas/panZoom';
import { usePanZoom } from './canvas/panZoom';
import type { Move } from './canvas/steadyView';
import { useSteadyView } from './canvas/steadyView';
import type { Legend } from './model/colours';
import type { Size } from './model/container';
import type { Box, Picture } from './model/layout';
import type { Operation } from './model/operations';

/** The pan and zoom of pictures side by side, and the elements to save. */
export interface Panes {
  linked: Linked;
  moves: Set<(move: Move) => void>;
}

/** Properties of a picture that may have another one beside it. */
interface PaneProps {
  panes: Panes;
  picture: Picture;
  extent: Size;
  difference: Box | undefined;
  /** The name of the graph, if there are two. */
  title: string | null;
  label: string;
  legend: Legend;
  height: number;
  selected: string | null;
  found: ReadonlySet<Operation>;
  carved: ReadonlyMap<Operation, 'input' | 'output'>;
  onHeight: (needed: number) => void;
  onSelect: (id: string | null) => void;
  onToggle: (id: string) => void;
  onKey: (event: TargetedKeyboardEvent<SVGSVGElement>) => void;
}

/** A picture; it moves together with those beside it. */
export function Pane(props: PaneProps): VNode {
  const { panes, picture, extent, difference, title, onHeight, ...others } = props;
  const panZoom = usePanZoom(panes.linked);
  const move = useSteadyView({ panZoom, picture, extent, difference, onHeight });
  useLayoutEffect(() => {
    panes.moves.add(move);
    return () => void panes.moves.delete(move);
  });
  return (
    <div class="nbfn-Graph-pane">
      {title !== null && <p class="nbfn-Graph-which">{seen(title)}</p>}
      <Canvas {...others} picture={picture} panZoom={panZoom} />
    </div>
  );
}
