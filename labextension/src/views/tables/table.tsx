import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { PageTable } from '../../protocol';
import { trans } from '../../words';
import { useFilter } from '../parts/filter';
import { integer } from '../parts/format';
import { Limited } from '../parts/limited';
import { seen } from '../parts/texts';
import { textOf, Words } from '../parts/words';
import type { Cell, Column, Line, Order } from './lines';
import { columnsOf, linesOf, sortedBy, visibleOf } from './lines';

/** Number of characters above which a text is a sentence, which needs a wide column. */
const PROSE = 30;

/** Matches a long word, such as the name of an operation. */
const LONG = /\S{30}/;

/** Matches a text that is a count, such as of lines, and not a name. */
const NUMBERED = /^\d/;

/** Indentation of a row for each part that contains it, in em. */
const INDENT = 1.1;

/**
 * The rows of a table, which can be sorted by each column; a long table has a filter. The parts of
 * a tree open and close; while it is sorted or filtered, it is a flat list with whole paths.
 */
export function Rows({ table }: { table: PageTable }): VNode {
  const { kind, newest, rows, title, total } = table;
  const [isTree, isCompared] = [kind === 'tree', kind === 'sides'];
  const [order, setOrder] = useState<Order | null>(null);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const lines = useMemo(() => linesOf(table), [table]);
  const columns = useMemo(() => columnsOf(table), [table]);
  const { items, field } = useFilter(
    lines,
    ({ path, cells }) => [path, ...cells.map(textOf)].join(' '),
    trans.__('Filter %1', title)
  );
  const isFlat = !isTree || order !== null || items !== lines;
  // What is in `toggled` is not as it is by default.
  const isOpen = ({ isClosed, path }: Line): boolean => isClosed === toggled.has(path);
  const shown = useMemo(
    () =>
      isFlat
        ? sortedBy(isTree ? items.filter(line => !line.isPart) : items, order)
        : visibleOf(items, isOpen),
    [items, order, toggled]
  );
  const toggle = ({ path }: Line): void => {
    const next = new Set(toggled);
    if (!next.delete(path)) {
      next.add(path);
    }
    setToggled(next);
  };
  const left = total - rows.length;
  const hasDetails = columns.some(({ isDetail }) => isDetail);
  return (
    <>
      {field}
      <Limited items={shown} step={isTree ? 50 : 20}>
        {visible => (
          <div class="nbfn-Scroll">
            <table
              class={`nbfn-Table ${isCompared ? 'nbfn-mod-sides' : isTree ? 'nbfn-Tree' : ''}`}
            >
              <thead>
                <tr>
                  {columns.map(column => (
                    <Head
                      key={column.number}
                      column={column}
                      isDown={isBy(column) ? (order?.isDown ?? null) : null}
                      sort={rows.length > 1 && !isCompared ? sortBy(column) : null}
                    />
                  ))}
                </tr>
              </thead>
              <tbody>
                {visible.map((line, index) => (
                  <Row
                    key={isTree ? line.path : newest && !order ? total - index : index}
                    indent={isTree ? indentOf(line, isFlat) : undefined}
                    hasDetails={hasDetails}
                  >
                    {columns.map(column =>
                      isTree && column.number === 0 ? (
                        <Name
                          key={column.number}
                          line={line}
                          isFlat={isFlat}
                          isOpen={isOpen(line)}
                          toggle={() => toggle(line)}
                        />
                      ) : (
                        <TableCell
                          key={column.number}
                          line={line}
                          column={column}
                          kind={kind}
                        />
                      )
                    )}
                  </Row>
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

  function isBy({ number }: Column): boolean {
    return order?.column.number === number;
  }

  /** The first click sorts by the largest number or the first name, the third removes the order. */
  function sortBy(column: Column): () => void {
    const first = column.isNumber;
    return () => {
      setOrder(
        !order || !isBy(column)
          ? { column, isDown: first }
          : order.isDown === first
            ? { column, isDown: !first }
            : null
      );
    };
  }
}

/** A row; a narrow view shows its details after a click. */
function Row(props: {
  indent: string | undefined;
  hasDetails: boolean;
  children: ComponentChildren;
}): VNode {
  const { indent, hasDetails, children } = props;
  const [isWhole, setWhole] = useState(false);
  return (
    <tr
      class={hasDetails && !isWhole ? 'nbfn-mod-brief' : undefined}
      style={indent === undefined ? {} : { '--nbfn-indent': indent }}
    >
      {children}
      {hasDetails && (
        <td class="nbfn-Table-more">
          <button
            type="button"
            class="nbfn-mod-link"
            aria-expanded={isWhole}
            title={isWhole ? trans.__('Show less') : trans.__('Show all of the row')}
            onClick={() => setWhole(!isWhole)}
          >
            {isWhole ? trans.__('less') : trans.__('more')}
          </button>
        </td>
      )}
    </tr>
  );
}

function Head(props: {
  column: Column;
  isDown: boolean | null;
  sort: (() => void) | null;
}): VNode {
  const { isDown, sort } = props;
  const { name, isNumber } = props.column;
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

/** The name of a tree's row; a button that opens and closes it if it has parts. */
function Name(props: {
  line: Line;
  isFlat: boolean;
  isOpen: boolean;
  toggle: () => void;
}): VNode {
  const { line, isFlat, isOpen, toggle } = props;
  const text = isFlat ? line.path : textOf(line.cells[0] ?? '');
  const name = <code title={line.path}>{seen(text)}</code>;
  return (
    <th scope="row">
      {line.isPart ? (
        <button
          type="button"
          class="nbfn-Tree-toggle"
          aria-expanded={isOpen}
          onClick={toggle}
        >
          {name}
        </button>
      ) : (
        name
      )}
    </th>
  );
}

function indentOf({ depth }: Line, isFlat: boolean): string {
  return `${isFlat ? 0 : depth * INDENT}em`;
}

/** A number with a bar that shows its size relative to the others. */
function Bar(props: { share: number; children: ComponentChildren }): VNode {
  const width = `${Math.min(100, props.share * 100).toFixed(1)}%`;
  return (
    <span class="nbfn-Bar" style={{ '--nbfn-share': props.share > 0 ? width : '0' }}>
      {props.children}
    </span>
  );
}

function TableCell(props: {
  line: Line;
  column: Column;
  kind: PageTable['kind'];
}): VNode {
  const { line, column, kind } = props;
  const cell = line.cells[column.number] ?? '';
  const words = <Words words={cell} />;
  return (
    <td
      class={kind === 'sides' ? sideOf(line, column.number) : classOf(cell, column)}
      data-column={cell === '' ? undefined : column.name}
      data-detail={column.isDetail || undefined}
    >
      {kind === 'tree' && column.isNumber ? (
        <Bar share={column.shareOf(cell)}>{words}</Bar>
      ) : (
        words
      )}
    </td>
  );
}

/** The class of the last two columns, before and after, if they differ and are not empty. */
function sideOf({ cells }: Line, number: number): string | undefined {
  const [before, after] = cells.slice(-2);
  if (cells[number] === '' || before === after) {
    return undefined;
  }
  return ['nbfn-mod-before', 'nbfn-mod-after'][number - cells.length + 2];
}

function classOf(cell: Cell, { isNumber, number }: Column): string | undefined {
  if (isNumber) {
    return 'nbfn-mod-number';
  }
  const text = textOf(cell);
  const width = LONG.test(text)
    ? 'nbfn-mod-long'
    : text.length > PROSE
      ? 'nbfn-mod-prose'
      : '';
  const isName = number === 0 && !NUMBERED.test(text);
  return [isName ? 'nbfn-mod-name' : '', width].filter(Boolean).join(' ') || undefined;
}
