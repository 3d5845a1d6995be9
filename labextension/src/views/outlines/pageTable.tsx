import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { PageTable, Phrase } from '../../protocol';
import { trans } from '../../words';
import { useFilter } from '../parts/filter';
import { integer } from '../parts/format';
import { Limited } from '../parts/limited';
import { seen } from '../parts/texts';
import { textOf, Words } from '../parts/words';
import { isNumeric, valueOf } from './values';

type Row = readonly (string | Phrase)[];

/** How the rows are sorted: by which column, and whether the largest is first. */
interface Order {
  column: number;
  isDown: boolean;
}

/** More characters than this are a sentence, which needs room. */
const PROSE = 30;

/** A word that takes much of a line, as the names of operations. */
const LONG = /\S{30}/;

/** The rows of a table, which can be sorted by each column, and filtered if they are many. */
export function Rows({ table }: { table: PageTable }): VNode {
  const { header, kind, newest, rows, title, total } = table;
  const isCompared = kind === 'sides';
  const [order, setOrder] = useState<Order | null>(null);
  const { items, field } = useFilter(
    rows,
    row => row.map(textOf).join(' '),
    trans.__('Filter %1', title)
  );
  const numbers = header.map((_, column) => isNumeric(rows, column));
  const sorted = useMemo(
    () => (order ? sortedBy(items, order) : items),
    [items, order]
  );
  const left = total - rows.length;
  return (
    <>
      {field}
      <Limited items={sorted} step={20}>
        {visible => (
          <div class="nbfn-Scroll">
            <table class={`nbfn-Table ${isCompared ? 'nbfn-mod-sides' : ''}`}>
              <thead>
                <tr>
                  {header.map((name, column) => (
                    <Head
                      key={name}
                      name={name}
                      isNumber={numbers[column] === true}
                      isDown={order?.column === column ? order.isDown : null}
                      sort={rows.length > 1 && !isCompared ? sortBy(column) : null}
                    />
                  ))}
                </tr>
              </thead>
              <tbody>
                {visible.map((row, index) => (
                  <TableRow
                    key={newest && !order ? total - index : index}
                    row={row}
                    header={header}
                    numbers={numbers}
                    isCompared={isCompared}
                  />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Limited>
      {left > 0 && (
        <p class="nbfn-Empty">
          {newest
            ? trans.__(
                'The newest %1 are here; and %2 earlier.',
                integer(rows.length),
                integer(left)
              )
            : trans.__(
                'The first %1 are here; and %2 more.',
                integer(rows.length),
                integer(left)
              )}
        </p>
      )}
    </>
  );

  /** The first press has the largest number first, or the first name; the third undoes it. */
  function sortBy(column: number): () => void {
    const first = numbers[column] === true;
    return () => {
      setOrder(
        order?.column !== column
          ? { column, isDown: first }
          : order.isDown === first
            ? { column, isDown: !first }
            : null
      );
    };
  }
}

function Head(props: {
  name: string;
  isNumber: boolean;
  isDown: boolean | null;
  sort: (() => void) | null;
}): VNode {
  const { name, isNumber, isDown, sort } = props;
  const sorting = isDown === null ? 'none' : isDown ? 'descending' : 'ascending';
  return (
    <th
      scope="col"
      class={isNumber ? 'nbfn-mod-number' : undefined}
      aria-sort={sort ? sorting : undefined}
    >
      {sort && name ? (
        <button
          type="button"
          class="nbfn-Table-sort"
          title={trans.__('Sort by %1', name)}
          onClick={sort}
        >
          {name}
        </button>
      ) : (
        name
      )}
    </th>
  );
}

function TableRow({
  row,
  header,
  numbers,
  isCompared
}: {
  row: Row;
  header: readonly string[];
  numbers: readonly boolean[];
  isCompared: boolean;
}): VNode {
  const differs = isCompared && row.at(-2) !== row.at(-1);
  const classOf = (cell: string | Phrase, index: number): string | undefined => {
    const isLong = !isCompared && LONG.test(textOf(cell));
    const isProse = !isCompared && textOf(cell).length > PROSE;
    const kind = isLong ? 'nbfn-mod-long' : isProse ? 'nbfn-mod-prose' : '';
    const width = numbers[index] ? 'nbfn-mod-number' : kind;
    const side = differs ? sideOf(index - row.length, cell) : '';
    return [width, side].filter(Boolean).join(' ') || undefined;
  };
  return (
    <tr>
      {row.map((cell, index) => (
        <td
          key={index}
          class={classOf(cell, index)}
          data-column={cell === '' ? undefined : header[index]}
        >
          <Words words={cell} />
        </td>
      ))}
    </tr>
  );
}

/** The last two columns are what was, and what is; an empty one has nothing to mark. */
function sideOf(fromEnd: number, cell: string | Phrase): string | undefined {
  if (fromEnd < -2 || cell === '') {
    return undefined;
  }
  return fromEnd === -2 ? 'nbfn-mod-before' : 'nbfn-mod-after';
}

function sortedBy(rows: readonly Row[], { column, isDown }: Order): readonly Row[] {
  const text = (row: Row): string => textOf(row[column] ?? '');
  const compare = isNumeric(rows, column)
    ? (a: Row, b: Row) => valueOf(text(a)) - valueOf(text(b))
    : (a: Row, b: Row) => text(a).localeCompare(text(b), 'en', { numeric: true });
  return [...rows].sort((a, b) => (isDown ? compare(b, a) : compare(a, b)));
}

/** A cell's text, with what is graph and what is Python and why beside it. */
export function Code({ table }: { table: PageTable }): VNode {
  return (
    <Limited items={table.rows} step={100}>
      {visible => (
        <ol class="nbfn-Lines" aria-label={trans.__('Lines of the cell')}>
          {visible.map((row, index) => (
            <CodeLine key={index} row={row.map(textOf)} />
          ))}
        </ol>
      )}
    </Limited>
  );
}

function CodeLine({ row }: { row: readonly string[] }): VNode {
  const [number = '', runs = '', why = '', text = '', time = ''] = row;
  const isGraph = runs === 'graph';
  return (
    <li class={`nbfn-Line nbfn-mod-${isGraph ? 'graph' : runs ? 'python' : 'blank'}`}>
      <span class="nbfn-Line-number">{number}</span>{' '}
      <code class="nbfn-Line-text" title={text}>
        {seen(text)}
      </code>{' '}
      <span class="nbfn-Line-reason">
        {isGraph && (
          <span class={time ? '' : 'nbfn-mod-unseen'}>{trans.__('graph')}</span>
        )}
        {time && `: ${time}`}
        {seen(why)}
      </span>
    </li>
  );
}
