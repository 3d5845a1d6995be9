import type { VNode } from 'preact';
import type { KernelState } from '../../feed/store';
import { trans } from '../../words';
import { WorkList } from './workList';
import { PageView } from './pageView';
import { useOutline } from '../parts/presence';

/** Properties of the view of one function or cell. */
interface OutlineProps {
  state: KernelState;
  /** Its id. */
  target: string;
}

/** What stands under a cell: what its function or its graphs are doing, and their outline. */
export function OutlineView({ state, target }: OutlineProps): VNode {
  const page = useOutline(state, target);
  const functions = state.cells.get(target)?.functions ?? [target];
  const work = [...state.work.values()].filter(
    row => row.function && functions.includes(row.function)
  );
  // While the first trace is made, there is nothing else to say.
  const isBegun = work.length === 0 || page?.call !== 'idle';
  return (
    <>
      <WorkList work={work} />
      {page && isBegun && <PageView page={page} />}
      {page === null && <Lost />}
    </>
  );
}

function Lost(): VNode {
  return <p class="nbfn-Empty">{trans.__('It is no longer in the kernel.')}</p>;
}

/** The outline of a function or a cell where its name stands above it already, as in a list. */
export function OutlineDetails({ state, target }: OutlineProps): VNode {
  const page = useOutline(state, target);
  if (page === null) {
    return <Lost />;
  }
  return <>{page && <PageView page={page} isInside />}</>;
}
