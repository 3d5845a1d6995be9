import type { VNode } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import type { GraphRecord } from '../../protocol';
import { counts } from '../parts/format';
import { SurroundingsContext } from '../parts/presence';
import { Sentence } from '../parts/texts';
import { Picture } from './picture';

/** The graph of a trace. */
export function GraphView({ graph }: { graph: GraphRecord }): VNode {
  return (
    <div class="nbfn-PageView">
      <p class="nbfn-Page-title">
        <Sentence text={graph.title} />
      </p>
      <GraphPicture graph={graph} />
    </div>
  );
}

/** The picture of a graph; its number of operations until it is drawn. */
export function GraphPicture({ graph }: { graph: GraphRecord }): VNode {
  const isLive = useContext(SurroundingsContext).presence === 'live';
  const data = useMemo(() => ({ graph, isLive }), [graph, isLive]);
  return (
    <Picture name="graph" data={data}>
      <p class="nbfn-Page-line">{counts.operations(graph.total)}</p>
    </Picture>
  );
}
