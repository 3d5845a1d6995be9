import type { VNode } from 'preact';
import type { Cause } from '../../protocol';
import { seen, Sentence } from './texts';

/** A cause: the argument and its old and new key where it has them, else its sentence. */
export function CauseText({ cause }: { cause: Cause }): VNode {
  const { path, old, new: now, sentence } = cause;
  if (path && old && now) {
    return (
      <span class="nbfn-Cause" title={sentence}>
        <code class="nbfn-Cause-path">{seen(path)}</code>{' '}
        <span class="nbfn-Cause-change">
          <code>{seen(old)}</code>
          <span class="nbfn-Cause-arrow" aria-label="became">
            {' → '}
          </span>
          <code>{seen(now)}</code>
        </span>
      </span>
    );
  }
  return (
    <span class="nbfn-Cause">
      <Sentence text={sentence} />
    </span>
  );
}
