import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { trans } from '../../words';
import { integer } from './format';

/** Properties of a list that shows a limited number of rows. */
interface LimitedProps<T> {
  items: readonly T[];
  /** Rows shown at first, and added by each press of the button. */
  step: number;
  /** Draws the visible rows. */
  children: (visible: readonly T[]) => ComponentChildren;
}

/** Shows the first rows, and a button for more, so that only visible rows are drawn. */
export function Limited<T>({ items, step, children }: LimitedProps<T>): VNode {
  const [limit, setLimit] = useState(step);
  const rest = items.length - limit;
  return (
    <>
      {children(rest > 0 ? items.slice(0, limit) : items)}
      {rest > 0 && (
        <button
          type="button"
          class="nbfn-Button nbfn-mod-more"
          onClick={() => setLimit(limit + step)}
        >
          {rest <= step
            ? trans.__('Show all %1', integer(items.length))
            : trans.__('Show %1 more of %2', integer(step), integer(rest))}
        </button>
      )}
    </>
  );
}
