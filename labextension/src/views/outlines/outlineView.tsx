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

/** The view under a cell: the running work of its function or graphs, and their outline. */
export function OutlineView({ state, target }: OutlineProps): VNode {
  const page = useOutline(state, target);
  const functions = state.cells.get(target)?.functions ?? [target];
  const work = [...state.work.values()].filter(
    row => row.function && functions.includes(row.function)
  );
  // While the first trace is made, the outline has no content.
  const isBegun = work.length === 0 || page?.call !== 'idle';
  return (
    <>
      <WorkList work={work} />
      {page && isBegun && <PageView page={page} />}
      {page === null && <Removed />}
    </>
  );
}

function Removed(): VNode {
  return <p class="nbfn-Empty">{trans.__('It is no longer in the kernel.')}</p>;
}

/** The outline of a function or cell below its name, as in a list. */
export function OutlineDetails({ state, target }: OutlineProps): VNode {
  const page = useOutline(state, target);
  if (page === null) {
    return <Removed />;
  }
  return <>{page && <PageView page={page} isInside />}</>;
}
