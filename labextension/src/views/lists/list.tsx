import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { trans } from '../../words';
import { useFilter } from '../parts/filter';
import { integer } from '../parts/format';
import { Icon } from '../parts/icons';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';
import { seen } from '../parts/texts';
import { valueOf } from '../tables/lines';

/** An item of a list. */
interface Listed {
  id: string;
  /** The text beside its name. */
  note?: string;
  /** The values to sort by, each with its unit or noun. */
  measures?: readonly string[];
}

/** Properties of a list. */
interface ListProps<T> {
  items: readonly T[];
  /** Label of the field that filters them. */
  filter: string;
  /** The text of an item that the filter searches. */
  textOf: (item: T) => string;
  /** The names of the measures. */
  orders?: readonly string[];
  /** Number of items that the kernel has not sent. */
  left?: number;
  /** Draws the row of an item; while the list is sorted, the note is the measure. */
  row: (item: T, note: string) => VNode;
}

/** A list in steps, sorted as the user chooses; a long one has a filter. */
export function List<T extends Listed>(props: ListProps<T>): VNode {
  const { items, filter, textOf, orders = [], left = 0, row } = props;
  const [name, setName] = useState('');
  const filtered = useFilter(items, textOf, filter);
  const order = orders.indexOf(name);
  const sorted = useMemo(() => {
    // Measures are texts of the kernel, such as "3.14 s".
    const valueOfItem = ({ measures = [] }: T): number =>
      valueOf(measures[order] ?? '');
    return order < 0
      ? filtered.items
      : [...filtered.items].sort((a, b) => valueOfItem(b) - valueOfItem(a));
  }, [filtered.items, order]);
  return (
    <>
      {filtered.field}
      {orders.length > 0 && items.length > 1 && (
        <label class="nbfn-Sorting">
          {trans.__('Sorted by')}{' '}
          <select
            class="nbfn-Sorting-select"
            value={name}
            onChange={event => setName(event.currentTarget.value)}
          >
            <option value="">{trans.__('age')}</option>
            {orders.map(one => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      )}
      <Limited items={sorted} step={50}>
        {visible =>
          visible.map(item => row(item, item.measures?.[order] ?? item.note ?? ''))
        }
      </Limited>
      {left > 0 && (
        <p class="nbfn-Muted">{trans.__('%1 more not listed.', integer(left))}</p>
      )}
    </>
  );
}

/** Properties of a row. */
interface RowProps {
  /** Its name; for a function with its parameters, and its cell if the name is not unique. */
  title: string;
  /** The place of a cell. */
  place?: string;
  /** The kind of the last call. */
  call?: Call;
  note: string;
  /** Draws the content, which exists only while the row is open. */
  children: () => ComponentChildren;
}

type Call = keyof ReturnType<typeof callLabels>;

/** A row with a name, its last call and a note; it opens to show its details. */
export function Row(props: RowProps): VNode {
  const { title, place, call, note, children } = props;
  const [, name = '', rest = ''] = /^([^(]*)(.*)$/s.exec(title) ?? [];
  return (
    <Section
      class="nbfn-Row"
      title={
        <>
          {call && <Icon name={call} label={callLabels()[call]} />}
          <code class="nbfn-Row-name" title={title}>
            {seen(name)}
            {rest && <span class="nbfn-Muted">{seen(rest)}</span>}
          </code>{' '}
          {place && <span class="nbfn-Muted">{place}</span>}
        </>
      }
      note={note}
    >
      {children}
    </Section>
  );
}

const callLabels = () => ({
  hit: trans.__('last call: hit'),
  trace: trans.__('last call: traced'),
  retrace: trans.__('last call: retraced'),
  idle: trans.__('not called yet')
});
