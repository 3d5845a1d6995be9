import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { VariableRecord } from '../../protocol';
import { Fact } from '../parts/texts';
import { useFilter } from '../parts/filter';
import { count, device, shape, size } from '../parts/format';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';

/** Up to this many variables, the groups are open at first. */
const OPEN_BELOW = 30;

/** Variables of one owner, such as those of the layer model/hidden. */
interface Group {
  owner: string;
  variables: VariableRecord[];
  nbytes: number;
}

/** The captured variables, grouped by what owns them. */
export function VariableTree({
  variables
}: {
  variables: ReadonlyMap<string, VariableRecord>;
}): VNode {
  const all = useMemo(() => [...variables.values()], [variables]);
  const { items, field } = useFilter(all, searchText, 'Filter variables');
  const groups = useMemo(() => grouped(items), [items]);
  if (all.length === 0) {
    return <p class="nbfn-Empty">No trace has captured a variable.</p>;
  }
  return (
    <>
      {field}
      <Limited items={groups} step={50}>
        {visible =>
          visible.map(group =>
            group.owner ? (
              <Section
                key={group.owner}
                class="nbfn-Row"
                title={<code class="nbfn-Row-name">{group.owner}</code>}
                note={`${count(group.variables.length, 'variable')}, ${size(group.nbytes)}`}
                open={all.length <= OPEN_BELOW}
              >
                {() => <VariableList variables={group.variables} />}
              </Section>
            ) : (
              <VariableList key="" variables={group.variables} />
            )
          )
        }
      </Limited>
    </>
  );
}

function VariableList({ variables }: { variables: readonly VariableRecord[] }): VNode {
  return (
    <Limited items={variables} step={50}>
      {visible => (
        <ul class="nbfn-Variables">
          {visible.map(variable => (
            <VariableItem key={variable.id} variable={variable} />
          ))}
        </ul>
      )}
    </Limited>
  );
}

function VariableItem({ variable }: { variable: VariableRecord }): VNode {
  return (
    <li class="nbfn-Variable" title={variable.name}>
      <code class="nbfn-Variable-name">{ownName(variable.name)}</code>{' '}
      <span class="nbfn-Facts">
        <Fact>
          <code>{variable.dtype + shape(variable.shape)}</code>
        </Fact>
        <Fact title={variable.device}>{device(variable.device)}</Fact>
        {variable.nbytes != null && <Fact>{size(variable.nbytes)}</Fact>}
        {variable.kind && variable.kind !== 'variable' && <Fact>{variable.kind}</Fact>}
        {variable.kind !== 'tensor' &&
          variable.kind !== 'resource' &&
          !variable.trainable && <Fact>not trainable</Fact>}
      </span>
    </li>
  );
}

function searchText(variable: VariableRecord): string {
  return `${variable.name} ${variable.dtype}${shape(variable.shape)} ${variable.device}`;
}

function ownName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function grouped(variables: readonly VariableRecord[]): Group[] {
  const groups = new Map<string, Group>();
  for (const variable of variables) {
    const owner = variable.name.slice(0, Math.max(0, variable.name.lastIndexOf('/')));
    let group = groups.get(owner);
    if (!group) {
      group = { owner, variables: [], nbytes: 0 };
      groups.set(owner, group);
    }
    group.variables.push(variable);
    group.nbytes += variable.nbytes ?? 0;
  }
  return [...groups.values()];
}

/** Captured variables as a table. */
export function VariableTable({
  variables
}: {
  variables: readonly VariableRecord[];
}): VNode {
  return (
    <Limited items={variables} step={20}>
      {visible => (
        <div class="nbfn-Scroll">
          <table class="nbfn-Table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Shape</th>
                <th scope="col">Type</th>
                <th scope="col">Device</th>
                <th scope="col" class="nbfn-mod-number">
                  Size
                </th>
              </tr>
            </thead>
            <tbody>
              {visible.map(variable => (
                <tr key={variable.id}>
                  <th scope="row">
                    <code>{variable.name}</code>
                  </th>
                  <td>
                    <code>{shape(variable.shape)}</code>
                  </td>
                  <td>
                    <code>{variable.dtype}</code>
                  </td>
                  <td title={variable.device}>{device(variable.device)}</td>
                  <td class="nbfn-mod-number">
                    {variable.nbytes == null ? '' : size(variable.nbytes)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Limited>
  );
}
