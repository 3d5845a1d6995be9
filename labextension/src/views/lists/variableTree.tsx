import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { once, usersOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { VariableRecord } from '../../protocol';
import { trans } from '../../words';
import type { Branch } from '../outlines/tree';
import { Tree } from '../outlines/tree';
import { counts, device, shape, size } from '../parts/format';

type Variables = KernelState['variables'];

/** The variables, by the notebook's names. */
export const variablesOf = once((rows: Variables) =>
  [...rows.values()].filter(({ kind }) => (kind ?? 'variable') === 'variable')
);

/** Tensors, tables and other resources that traces have captured. */
export const otherCaptures = once((rows: Variables) =>
  [...rows.values()].filter(({ kind }) => (kind ?? 'variable') !== 'variable')
);

/** The variables as a tree, by the notebook's names. */
export function VariableTree({ state }: { state: KernelState }): VNode {
  const all = variablesOf(state.variables);
  return all.length === 0 ? (
    <p class="nbfn-Empty">{trans.__('The notebook has no variables.')}</p>
  ) : (
    <Names state={state} all={all} left={(state.totals.variables ?? 0) - all.length} />
  );
}

/** What else traces have captured, as a tree. */
export function CaptureTree({ state }: { state: KernelState }): VNode {
  return <Names state={state} all={otherCaptures(state.variables)} left={0} />;
}

interface NamesProps {
  state: KernelState;
  all: readonly VariableRecord[];
  /** How many more there are. */
  left: number;
}

function Names({ state, all, left }: NamesProps): VNode {
  const rows = useMemo(
    () => branchesOf(all, one => usersOf(state, one.id).join(', ')),
    [all, state.traces, state.functions]
  );
  const header = [
    trans.__('name'),
    trans.__('dtype and shape'),
    trans.__('size'),
    trans.__('device'),
    trans.__('captured by')
  ];
  return (
    <Tree
      title={trans.__('variables')}
      header={header}
      rows={rows}
      total={rows.length + Math.max(left, 0)}
    />
  );
}

/** What has a name that begins as others do, such as all of model/hidden. */
interface Group {
  groups: Map<string, Group>;
  variables: VariableRecord[];
}

/** The rows of a tree of names; what only leads to another part is in one row with it. */
function branchesOf(
  all: readonly VariableRecord[],
  users: (variable: VariableRecord) => string
): Branch[] {
  const root: Group = { groups: new Map(), variables: [] };
  for (const variable of all) {
    let at = root;
    for (const name of variable.name.split('/').slice(0, -1)) {
      const next = at.groups.get(name) ?? { groups: new Map(), variables: [] };
      at.groups.set(name, next);
      at = next;
    }
    at.variables.push(variable);
  }
  const rows: Branch[] = [];
  const add = (group: Group, depth: number, above: string): VariableRecord[] => {
    const inside: VariableRecord[] = [];
    for (const [first, below] of group.groups) {
      const names = [first];
      let last = below;
      while (last.groups.size === 1 && last.variables.length === 0) {
        for (const [name, only] of last.groups) {
          names.push(name);
          last = only;
        }
      }
      const name = names.join('/');
      const row: Branch = { depth, cells: [], path: above + name };
      rows.push(row);
      const found = add(last, depth + 1, `${row.path}/`);
      const nbytes = found.reduce((sum, one) => sum + (one.nbytes ?? 0), 0);
      row.cells = [name, counts.variables(found.length), size(nbytes), '', ''];
      // An optimizer's own variables are many, and nobody trains them.
      if (!found.some(one => one.trainable)) {
        row.isClosed = true;
      }
      inside.push(...found);
    }
    for (const one of group.variables) {
      const { dtype, kind, name, nbytes, trainable } = one;
      const isVariable = (kind ?? 'variable') === 'variable';
      const note = !isVariable
        ? `, ${kind}`
        : trainable
          ? ''
          : `, ${trans.__('not trainable')}`;
      const own = name.slice(name.lastIndexOf('/') + 1);
      const type = dtype + shape(one.shape) + note;
      const bytes = nbytes == null ? '' : size(nbytes);
      const cells = [own, type, bytes, device(one.device), users(one)];
      rows.push({ depth, cells, path: above + own });
    }
    return [...inside, ...group.variables];
  };
  add(root, 0, '');
  return rows;
}
