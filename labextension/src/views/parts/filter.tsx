import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { trans } from '../../words';
import { integer } from './format';

/** Number of rows above which a list has a filter. */
const MIN_FILTERED = 15;

/** A filtered list with its filter field. */
interface Filtered<T> {
  items: readonly T[];
  /** The field, or null if the list is short. */
  field: VNode | null;
}

/** Filters rows by the words that the user types; every word must occur in a row's text. */
export function useFilter<T>(
  items: readonly T[],
  text: (item: T) => string,
  label: string
): Filtered<T> {
  const [query, setQuery] = useState('');
  const kept = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return words.length === 0
      ? items
      : items.filter(item => {
          const content = text(item).toLowerCase();
          return words.every(word => content.includes(word));
        });
  }, [items, query]);
  const field =
    // A list that has become short keeps a field that has text.
    items.length > MIN_FILTERED || query ? (
      <div class="nbfn-Filter">
        <input
          type="search"
          class="nbfn-Filter-input"
          placeholder={label}
          aria-label={label}
          value={query}
          onInput={event => setQuery(event.currentTarget.value)}
        />
        {query && (
          <span class="nbfn-Note" role="status">
            {trans.__('%1 found', integer(kept.length))}
          </span>
        )}
      </div>
    ) : null;
  return { items: kept, field };
}
