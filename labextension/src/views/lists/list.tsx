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

/** What the kernel says of a row. */
interface Listed {
  id: string;
  /** What stands beside its name. */
  note?: string;
  /** What it may be sorted by, each with its unit or noun. */
  measures?: readonly string[];
}

/** Properties of a list. */
interface ListProps<T> {
  items: readonly T[];
  /** Label of the field that filters them. */
  filter: string;
  /** What the filter looks through. */
  textOf: (item: T) => string;
  /** The names of the measures. */
  orders?: readonly string[];
  /** How many more there are, of which the kernel has sent no rows. */
  left?: number;
  /** The row of an item; the note is the measure by which the list is sorted, if it is. */
  row: (item: T, note: string) => VNode;
}

/** Rows that are shown in steps, sorted as the user chooses, and filtered if they are many. */
export function List<T extends Listed>(props: ListProps<T>): VNode {
  const { items, filter, textOf, orders = [], left = 0, row } = props;
  const [name, setName] = useState('');
  const filtered = useFilter(items, textOf, filter);
  const order = orders.indexOf(name);
  const sorted = useMemo(() => {
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
  /** Its name; of a function also its parameters, and its cell if another has the name. */
  title: string;
  /** The place of a cell. */
  place?: string;
  /** What the last call was, of what can be called. */
  call?: Call;
  note: string;
  /** Draws what is shown of it, which exists while the row is open. */
  children: () => ComponentChildren;
}

type Call = keyof ReturnType<typeof callLabels>;

/** A name with what is known of it at a glance, and everything else when it is opened. */
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
