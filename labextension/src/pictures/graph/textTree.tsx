import type { VNode } from 'preact';
import { counts, duration } from '../../views/parts/format';
import { Limited } from '../../views/parts/limited';
import { Section } from '../../views/parts/section';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';
import type { Node } from './model/node';

/** The graph as text: collapsible scopes, and the operations in them. */
export function TextTree({
  whole,
  onSelect
}: {
  whole: Node;
  onSelect: (node: Node) => void;
}): VNode {
  return (
    <Section
      class="nbfn-PageTable"
      title={trans.__('As a list')}
      note={counts.operations(whole.operations.length)}
    >
      {() => <Items node={whole} onSelect={onSelect} />}
    </Section>
  );
}

function Items({
  node,
  onSelect
}: {
  node: Node;
  onSelect: (node: Node) => void;
}): VNode {
  return (
    <Limited items={node.children} step={50}>
      {visible => (
        <ul>
          {visible.map(child => (
            <li key={child.id}>
              {child.operation && <Leaf node={child} onSelect={onSelect} />}
              {child.canOpen && (
                <Section
                  class="nbfn-PageTable"
                  title={
                    child.operation ? trans.__('what it calls') : seen(child.label)
                  }
                  note={child.operation ? null : noteOf(child)}
                >
                  {() => <Items node={child} onSelect={onSelect} />}
                </Section>
              )}
            </li>
          ))}
        </ul>
      )}
    </Limited>
  );
}

function noteOf({ operations, seconds }: Node): string {
  const number = counts.operations(operations.length);
  return seconds > 0 ? `${number}, ${duration(seconds)}` : number;
}

function Leaf({
  node,
  onSelect
}: {
  node: Node;
  onSelect: (node: Node) => void;
}): VNode {
  const { operation, label, seconds } = node;
  return (
    <>
      <button type="button" class="nbfn-mod-link" onClick={() => onSelect(node)}>
        {seen(label)}
      </button>{' '}
      <span class="nbfn-Muted">
        {seen([operation?.type, ...(operation?.results ?? [])].join(' '))}
        {operation?.mark && `, ${operation.mark}`}
        {seconds > 0 && `, ${duration(seconds)}`}
      </span>
    </>
  );
}
