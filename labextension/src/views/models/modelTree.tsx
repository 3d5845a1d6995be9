import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ModelRecord, ModelRow } from '../../protocol';
import { trans } from '../../words';
import { counts, integer, percent, significant, size } from '../parts/format';
import { LeftOut } from '../parts/limited';
import { seen } from '../parts/texts';

/** Up to this many rows, all parts are open at first. */
const OPEN_BELOW = 40;

/** How far a row is moved to the right for each part above it, in em. */
const INDENT = 1.1;

/** A model as a tree with its sizes, and what training has done to it. */
export function ModelTree({ model }: { model: ModelRecord }): VNode {
  const { rows } = model;
  const [closed, setClosed] = useState<ReadonlySet<string>>(
    () => new Set(rows.length > OPEN_BELOW ? deep(rows) : [])
  );
  const visible = useMemo(() => shown(rows, closed), [rows, closed]);
  const hasChildren = useMemo(() => parents(rows), [rows]);
  if (model.problem) {
    return <p class="nbfn-Empty">{seen(model.problem)}</p>;
  }
  const largest = rows[0]?.parameters ?? 0;
  const told = {
    change: rows.some(row => row.change != null),
    gradient: rows.some(row => row.gradient != null)
  };
  const toggle = (path: string): void => {
    const next = new Set(closed);
    if (!next.delete(path)) {
      next.add(path);
    }
    setClosed(next);
  };
  return (
    <div class="nbfn-Scroll nbfn-ModelTree-frame">
      <table class="nbfn-Table nbfn-ModelTree">
        <thead>
          <tr>
            <th scope="col">{trans.__('Part')}</th>
            <th scope="col" class="nbfn-mod-number">
              {trans.__('Parameters')}
            </th>
            <th scope="col" class="nbfn-mod-number">
              {trans.__('Size')}
            </th>
            {told.change && (
              <th
                scope="col"
                class="nbfn-mod-number"
                title={trans.__(
                  'Norm of the change since the last look, as a share of the values'
                )}
              >
                {trans.__('Change')}
              </th>
            )}
            {told.gradient && (
              <th
                scope="col"
                class="nbfn-mod-number"
                title={trans.__('Norm of the gradient')}
              >
                {trans.__('Gradient')}
              </th>
            )}
            <th scope="col">{trans.__('Shape')}</th>
          </tr>
        </thead>
        <tbody>
          {visible.map(row => (
            <tr key={row.path} class={`nbfn-mod-${row.kind}`}>
              <th scope="row" style={{ paddingLeft: `${row.depth * INDENT}em` }}>
                {hasChildren.has(row.path) ? (
                  <button
                    type="button"
                    class="nbfn-ModelTree-toggle"
                    aria-expanded={!closed.has(row.path)}
                    onClick={() => toggle(row.path)}
                  >
                    <Name row={row} />
                  </button>
                ) : (
                  <Name row={row} />
                )}
                <Marks row={row} />
              </th>
              <td class="nbfn-mod-number">
                <Bar share={share(row.parameters, largest)}>
                  {row.parameters ? integer(row.parameters) : ''}
                </Bar>
              </td>
              <td class="nbfn-mod-number">{row.nbytes ? size(row.nbytes) : ''}</td>
              {told.change && (
                <td class="nbfn-mod-number">
                  <Bar share={row.change ?? 0}>
                    {row.change == null ? '' : percent(row.change, 3)}
                  </Bar>
                </td>
              )}
              {told.gradient && (
                <td class="nbfn-mod-number">
                  {row.gradient == null ? '' : significant(row.gradient, 3)}
                </td>
              )}
              <td title={row.takes ? trans.__('from %1', seen(row.takes)) : undefined}>
                <code>
                  {seen(
                    row.kind === 'variable' ? (row.tensor ?? '') : (row.gives ?? '')
                  )}
                </code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <LeftOut number={model.total - rows.length} of={counts.otherRows} />
    </div>
  );
}

function Name({ row }: { row: ModelRow }): VNode {
  const name = seen(row.name);
  return row.kind === 'variable' ? (
    <code title={row.path}>{name}</code>
  ) : (
    <span title={row.path}>
      {name && <code>{name}</code>}{' '}
      <span class="nbfn-ModelTree-class">{seen(row.label)}</span>
    </span>
  );
}

/** What is special about a row, in words. */
function Marks({ row }: { row: ModelRow }): VNode {
  const isVariable = row.kind === 'variable';
  const isFrozen = isVariable && row.label === 'params' && !row.trainable;
  return (
    <>
      {isVariable && row.label !== 'params' && <Mark>{row.label}</Mark>}
      {isFrozen && (
        <Mark title={trans.__('No optimizer changes it')}>{trans.__('frozen')}</Mark>
      )}
      {row.unused && (
        <Mark title={trans.__('No trace captures it')}>{trans.__('in no trace')}</Mark>
      )}
      {row.same_as != null && <Mark>{trans.__('same as %1', row.same_as || '/')}</Mark>}
    </>
  );
}

function Mark({ title, children }: { title?: string; children: string }): VNode {
  return (
    <>
      {' '}
      <span class="nbfn-ModelTree-mark" title={title}>
        {seen(children)}
      </span>
    </>
  );
}

/** A number with a bar behind it that says how large it is beside the others. */
function Bar({ share: part, children }: { share: number; children: string }): VNode {
  const width = `${Math.min(100, Math.max(0, part * 100)).toFixed(1)}%`;
  return (
    <span class="nbfn-Bar" style={{ '--nbfn-share': part > 0 ? width : '0' }}>
      {children}
    </span>
  );
}

function share(parameters: number | null | undefined, largest: number): number {
  return parameters && largest ? parameters / largest : 0;
}

/** The paths of parts within parts, which are closed at first in a large tree. */
function deep(rows: readonly ModelRow[]): string[] {
  return rows
    .filter(row => row.kind === 'module' && row.depth >= 1)
    .map(row => row.path);
}

function parents(rows: readonly ModelRow[]): ReadonlySet<string> {
  const found = new Set<string>();
  rows.forEach((row, index) => {
    if ((rows[index + 1]?.depth ?? 0) > row.depth) {
      found.add(row.path);
    }
  });
  return found;
}

/** The rows that are in no closed part. */
function shown(rows: readonly ModelRow[], closed: ReadonlySet<string>): ModelRow[] {
  let limit = Infinity;
  return rows.filter(row => {
    if (row.depth > limit) {
      return false;
    }
    limit = closed.has(row.path) ? row.depth : Infinity;
    return true;
  });
}
