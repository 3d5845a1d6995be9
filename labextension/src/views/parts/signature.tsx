import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Leaf } from '../../protocol';
import { trans } from '../../words';
import { integer } from './format';
import { seen } from './texts';

const FIRST = 3;

/** A trace's signature: one line for each leaf, the first few until asked for all. */
export function Signature({ leaves }: { leaves: readonly Leaf[] }): VNode {
  const [all, setAll] = useState(false);
  if (leaves.length === 0) {
    return <span class="nbfn-Muted">{trans.__('no arguments')}</span>;
  }
  const rest = leaves.length - FIRST;
  const folded = !all && rest > 1;
  return (
    <span class="nbfn-Signature">
      {(folded ? leaves.slice(0, FIRST) : leaves).map(leaf => (
        <span class="nbfn-Signature-leaf" key={leaf.path}>
          <code class="nbfn-Signature-path">{seen(leaf.path)}</code>{' '}
          <code class="nbfn-Signature-type">{seen(leaf.type)}</code>{' '}
        </span>
      ))}
      {folded && (
        <button type="button" class="nbfn-mod-link" onClick={() => setAll(true)}>
          {trans.__('%1 more', integer(rest))}
        </button>
      )}
    </span>
  );
}
