import type { VNode } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import { once, usersOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { VariableRecord } from '../../protocol';
import { trans } from '../../words';
import { useFilter } from '../parts/filter';
import { counts, device, shape, size } from '../parts/format';
import { LeftOut, Limited } from '../parts/limited';
import { SurroundingsContext } from '../parts/presence';
import { Section } from '../parts/section';
import { Fact, seen } from '../parts/texts';
import { Question } from './question';

/** Up to this many variables, the branches are open at first. */
const OPEN_BELOW = 30;

/** What has a name that begins as others do, such as all of model/hidden. */
interface Branch {
  name: string;
  branches: Map<string, Branch>;
  variables: VariableRecord[];
  number: number;
  nbytes: number;
  /** Whether something in it is trained; an optimizer's own variables are not. */
  isTrained: boolean;
}

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
  if (all.length === 0) {
    return <p class="nbfn-Empty">{trans.__('The notebook has no variables.')}</p>;
  }
  const left = (state.totals.variables ?? 0) - all.length;
  return (
    <>
      <Tree state={state} all={all} />
      <LeftOut number={left} of={counts.otherVariables} />
    </>
  );
}

/** What else traces have captured, as a tree. */
export function CaptureTree({ state }: { state: KernelState }): VNode {
  return <Tree state={state} all={otherCaptures(state.variables)} />;
}

function Tree({
  state,
  all
}: {
  state: KernelState;
  all: readonly VariableRecord[];
}): VNode {
  const { items, field } = useFilter(all, searchText, trans.__('Filter variables'));
  const root = useMemo(() => treeOf(items), [items]);
  return (
    <>
      {field}
      <BranchContent state={state} branch={root} open={all.length <= OPEN_BELOW} />
    </>
  );
}

interface BranchProps {
  state: KernelState;
  branch: Branch;
  open: boolean;
}

function BranchContent({ state, branch, open }: BranchProps): VNode {
  return (
    <>
      <Limited items={[...branch.branches.values()]} step={50}>
        {visible =>
          visible.map(one => (
            <BranchRow key={one.name} state={state} branch={one} open={open} />
          ))
        }
      </Limited>
      <Limited items={branch.variables} step={50}>
        {visible => (
          <ul class="nbfn-Variables">
            {visible.map(one => (
              <VariableItem key={one.id} state={state} variable={one} />
            ))}
          </ul>
        )}
      </Limited>
    </>
  );
}

/** A branch; one that only leads to another stands in one row with it. */
function BranchRow({ state, branch, open }: BranchProps): VNode {
  const names = [branch.name];
  let last = branch;
  while (last.branches.size === 1 && last.variables.length === 0) {
    for (const only of last.branches.values()) {
      names.push(only.name);
      last = only;
    }
  }
  return (
    <Section
      class="nbfn-Row"
      title={<code class="nbfn-Row-name">{seen(names.join('/'))}</code>}
      note={`${counts.variables(last.number)}, ${size(last.nbytes)}`}
      open={open && last.isTrained}
    >
      {() => <BranchContent state={state} branch={last} open={open} />}
    </Section>
  );
}

function VariableItem({
  state,
  variable
}: {
  state: KernelState;
  variable: VariableRecord;
}): VNode {
  const { hasCells, presence } = useContext(SurroundingsContext);
  const isLive = presence === 'live' && hasCells;
  const { kind, name, trainable } = variable;
  const isVariable = !kind || kind === 'variable';
  const users = usersOf(state, variable.id);
  return (
    <li class="nbfn-Variable" title={name}>
      <code class="nbfn-Variable-name">
        {seen(name.slice(name.lastIndexOf('/') + 1))}
      </code>{' '}
      <span class="nbfn-Facts">
        <Fact>
          <code>{variable.dtype + shape(variable.shape)}</code>
        </Fact>
        <Fact title={variable.device}>{device(variable.device)}</Fact>
        {variable.nbytes != null && <Fact>{size(variable.nbytes)}</Fact>}
        {!isVariable && <Fact>{kind}</Fact>}
        {isVariable && !trainable && <Fact>{trans.__('not trainable')}</Fact>}
        {users.length > 0 && (
          <Fact title={trans.__('The functions that capture it')}>
            {trans.__('in')} <code>{seen(users.join(', '))}</code>
          </Fact>
        )}
        {isLive && isVariable && (
          <Fact>
            <Question
              code={`%tf_session ${name}`}
              title={trans.__(
                'Run a cell that shows its values: mean, extremes, histogram, change'
              )}
            >
              {trans.__('values')}
            </Question>
          </Fact>
        )}
      </span>
    </li>
  );
}

function searchText(variable: VariableRecord): string {
  return `${variable.name} ${variable.dtype}${shape(variable.shape)} ${variable.device}`;
}

function treeOf(variables: readonly VariableRecord[]): Branch {
  const root = branchOf('');
  for (const variable of variables) {
    const nbytes = variable.nbytes ?? 0;
    let at = root;
    for (const name of variable.name.split('/').slice(0, -1)) {
      const next = at.branches.get(name) ?? branchOf(name);
      at.branches.set(name, next);
      next.number += 1;
      next.isTrained ||= variable.trainable;
      next.nbytes += nbytes;
      at = next;
    }
    at.variables.push(variable);
  }
  return root;
}

function branchOf(name: string): Branch {
  return {
    name,
    branches: new Map(),
    variables: [],
    number: 0,
    nbytes: 0,
    isTrained: false
  };
}
