import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { trans } from '../../words';
import { integer } from './format';

/** Properties of a list that shows a limited number of rows. */
export interface LimitedProps<T> {
  items: readonly T[];
  /** Rows shown at first, and added by each press of the button. */
  step: number;
  /** Draws the rows that are to be seen. */
  children: (visible: readonly T[]) => ComponentChildren;
}

/** Shows the first rows, and a button for more: a list never costs more than what is seen. */
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

/** How many rows there are that the kernel has not told; nothing if it has told all. */
export function LeftOut({
  number,
  of
}: {
  number: number;
  of: (number: number) => string;
}): VNode | null {
  return number > 0 ? (
    <p class="nbfn-Muted">{trans.__('%1 not listed.', of(number))}</p>
  ) : null;
}

/** A column of a table; what the first one holds names the row. */
export interface Column<T> {
  name: string;
  /** What the name means, where that is not plain. */
  title?: string;
  isNumber?: boolean;
  of: (row: T) => ComponentChildren;
}

/** Properties of a table. */
export interface TableProps<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  class?: string;
  caption?: string;
  step?: number;
}

/** Rows as a table, of which the first are shown. */
export function Table<T extends { id: string }>(props: TableProps<T>): VNode {
  const { rows, columns, caption, step = 20 } = props;
  const [first, ...others] = columns;
  const kind = ({ isNumber }: Column<T>) => (isNumber ? 'nbfn-mod-number' : undefined);
  return (
    <Limited items={rows} step={step}>
      {visible => (
        <div class="nbfn-Scroll">
          <table class={props.class ?? 'nbfn-Table'}>
            {caption && <caption>{caption}</caption>}
            <thead>
              <tr>
                {columns.map(column => (
                  <th
                    key={column.name}
                    scope="col"
                    class={kind(column)}
                    title={column.title}
                  >
                    {column.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {visible.map(row => (
                <tr key={row.id}>
                  <th scope="row">{first?.of(row)}</th>
                  {others.map(column => (
                    <td key={column.name} class={kind(column)}>
                      {column.of(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Limited>
  );
}
