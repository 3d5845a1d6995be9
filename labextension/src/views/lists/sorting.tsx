import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { trans } from '../../words';

/** A way to sort rows: the largest number first. */
export interface Order<T> {
  name: string;
  value: (item: T) => number;
  /** What a row says of its number. */
  text: (value: number) => string;
}

/** Rows in the order that the user has chosen. */
export interface Sorted<T> {
  items: readonly T[];
  /** What each row says beside its name. */
  text: (item: T) => string;
  /** Where the order is chosen; null where there is nothing to sort. */
  field: VNode | null;
}

/** Sorts rows by what the user chooses; first they stand as they come. */
export function useSorting<T>(
  items: readonly T[],
  orders: readonly Order<T>[],
  text: (item: T) => string
): Sorted<T> {
  const [name, setName] = useState('');
  const order = orders.find(one => one.name === name);
  const sorted = useMemo(
    () => (order ? [...items].sort((a, b) => order.value(b) - order.value(a)) : items),
    [items, order]
  );
  const field =
    items.length > 1 ? (
      <label class="nbfn-Sorting">
        {trans.__('Sorted by')}{' '}
        <select
          class="nbfn-Sorting-select"
          value={name}
          onChange={event => setName(event.currentTarget.value)}
        >
          <option value="">{trans.__('age')}</option>
          {orders.map(one => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
    ) : null;
  const textOf = order ? (item: T) => order.text(order.value(item)) : text;
  return { items: sorted, text: textOf, field };
}
