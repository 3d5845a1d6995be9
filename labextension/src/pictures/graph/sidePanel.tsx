import type { VNode } from 'preact';
import type { FactActions } from './facts';
import { BoxFacts, OperationFacts } from './facts';
import type { Ends } from './model/carving';
import type { Node } from './model/node';
import type { Operations } from './model/operations';
import { Overview } from './overview';

/** The panel beside the picture: facts about the selected node, or about the whole graph. */
export function SidePanel(props: {
  graph: Operations;
  selected: Node | null;
  isOpen: boolean;
  /** The place whose operations are marked. */
  place: number | null;
  ends: Ends | null;
  actions: FactActions;
}): VNode {
  const { graph, selected, isOpen, place, ends, actions } = props;
  const operation = selected?.operation;
  return (
    <div class="nbfn-Graph-side">
      {!selected && <Overview graph={graph} place={place} actions={actions} />}
      {selected && operation && (
        <OperationFacts
          node={selected}
          operation={operation}
          isOpen={isOpen}
          ends={ends}
          actions={actions}
        />
      )}
      {selected && !operation && (
        <BoxFacts node={selected} isOpen={isOpen} actions={actions} />
      )}
    </div>
  );
}
