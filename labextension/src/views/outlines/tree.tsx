import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Phrase } from '../../protocol';
import { trans } from '../../words';
import { useFilter } from '../parts/filter';
import { integer } from '../parts/format';
import { Limited } from '../parts/limited';
import { seen } from '../parts/texts';
import { textOf, Words } from '../parts/words';
import { isNumeric, valueOf } from './values';

/** Up to this many rows, all parts are open at first. */
const OPEN_BELOW = 40;

/** How far a row is moved to the right for each part above it, in em. */
const INDENT = 1.1;

/** A row of a tree, and how deep it is. */
export interface Branch {
  depth: number;
  cells: readonly (string | Phrase)[];
  /** What tells it from all others: its path. */
  path: string;
  /** Whether it is closed at first, however small the tree is. */
  isClosed?: boolean;
}

/** Properties of a tree. */
export interface TreeProps {
  /** What its rows are, for the field that filters them. */
  title: string;
  header: readonly string[];
  rows: readonly Branch[];
  /** How many rows there are, also of those that are not here. */
  total?: number;
}

/** Rows within each other, whose parts open and close; what is sought is shown with its path. */
export function Tree({ title, header, rows, total = rows.length }: TreeProps): VNode {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const isLarge = rows.length > OPEN_BELOW;
  const parents = useMemo(
    () => new Set(rows.filter((row, n) => (rows[n + 1]?.depth ?? 0) > row.depth)),
    [rows]
  );
  const isOpen = (row: Branch): boolean =>
    !(row.isClosed ?? (isLarge && row.depth > 0)) !== toggled.has(row.path);
  const { items, field } = useFilter(
    rows,
    row => [row.path, ...row.cells.map(textOf)].join(' '),
    trans.__('Filter %1', title)
  );
  const isFiltered = items !== rows;
  const visible = isFiltered
    ? items.filter(row => !parents.has(row))
    : rows.filter(below(row => parents.has(row) && !isOpen(row)));
  const columns = useMemo(() => columnsOf(header, rows), [header.join(), rows]);
  const toggle = (path: string): void => {
    const next = new Set(toggled);
    if (!next.delete(path)) {
      next.add(path);
    }
    setToggled(next);
  };
  return (
    <>
      {field}
      <Limited items={visible} step={50}>
        {shown => (
          <div class="nbfn-Scroll">
            <table class="nbfn-Table nbfn-Tree">
              <thead>
                <tr>
                  {header.map((name, column) => (
                    <th
                      key={name}
                      scope="col"
                      class={columns[column]?.isNumber ? 'nbfn-mod-number' : undefined}
                    >
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {shown.map(row => (
                  <tr
                    key={row.path}
                    class={parents.has(row) ? 'nbfn-mod-part' : undefined}
                  >
                    {row.cells.map((cell, column) =>
                      column === 0 ? (
                        <Name
                          row={row}
                          text={isFiltered ? row.path : textOf(cell)}
                          isOpen={parents.has(row) && !isFiltered ? isOpen(row) : null}
                          toggle={() => toggle(row.path)}
                        />
                      ) : columns[column]?.isNumber ? (
                        <td class="nbfn-mod-number" data-column={header[column]}>
                          <Bar share={shareOf(cell, columns[column].largest)}>
                            <Words words={cell} />
                          </Bar>
                        </td>
                      ) : (
                        <td data-column={cell === '' ? undefined : header[column]}>
                          <Words words={cell} />
                        </td>
                      )
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Limited>
      {total > rows.length && (
        <p class="nbfn-Muted">
          {trans.__('%1 more not listed.', integer(total - rows.length))}
        </p>
      )}
    </>
  );
}

function Name(props: {
  row: Branch;
  text: string;
  isOpen: boolean | null;
  toggle: () => void;
}): VNode {
  const { row, text, isOpen, toggle } = props;
  const name = <code title={row.path}>{seen(text)}</code>;
  return (
    <th scope="row" style={{ paddingLeft: `${row.depth * INDENT}em` }}>
      {isOpen === null ? (
        name
      ) : (
        <button
          type="button"
          class="nbfn-Tree-toggle"
          aria-expanded={isOpen}
          onClick={toggle}
        >
          {name}
        </button>
      )}
    </th>
  );
}

/** A number with a bar behind it that says how large it is beside the others. */
function Bar(props: { share: number; children: ComponentChildren }): VNode {
  const width = `${Math.min(100, props.share * 100).toFixed(1)}%`;
  return (
    <span class="nbfn-Bar" style={{ '--nbfn-share': props.share > 0 ? width : '0' }}>
      {props.children}
    </span>
  );
}

/** Which columns are numbers, and how large the largest of each is. */
function columnsOf(header: readonly string[], rows: readonly Branch[]) {
  const cells = rows.map(row => row.cells);
  return header.map((_, column) => ({
    isNumber: isNumeric(cells, column),
    largest: cells.reduce(
      (largest, row) => Math.max(largest, valueOf(textOf(row[column] ?? ''))),
      0
    )
  }));
}

function shareOf(cell: string | Phrase, largest: number): number {
  const value = valueOf(textOf(cell));
  return value > 0 && largest > 0 ? value / largest : 0;
}

/** Keeps the rows that are in no closed part. */
function below(isClosed: (row: Branch) => boolean): (row: Branch) => boolean {
  let limit = Infinity;
  return row => {
    if (row.depth > limit) {
      return false;
    }
    limit = isClosed(row) ? row.depth : Infinity;
    return true;
  };
}

/** The rows of a table that is a tree, with their paths. */
export function branchesOf(
  rows: readonly (readonly (string | Phrase)[])[],
  depths: readonly number[]
): Branch[] {
  const path: string[] = [];
  return rows.map((cells, n) => {
    const depth = depths[n] ?? 0;
    path.length = depth;
    path.push(textOf(cells[0] ?? ''));
    return { depth, cells, path: path.join('/') };
  });
}
