import type { VNode } from 'preact';
import type { WorkRecord } from '../../protocol';

/** The running work: a progress bar and a sentence for each. */
export function WorkList({ work }: { work: readonly WorkRecord[] }): VNode | null {
  if (work.length === 0) {
    return null;
  }
  return (
    <ul class="nbfn-WorkList">
      {work.map(row => (
        <li key={row.id} class="nbfn-Work">
          <Bar row={row} />
          <span>{row.sentence}</span>
        </li>
      ))}
    </ul>
  );
}

/** A progress bar; indeterminate if the progress is unknown. */
function Bar({ row }: { row: WorkRecord }): VNode {
  const { done, total } = row;
  const extent =
    total && done != null ? { value: Math.min(done, total), max: total } : {};
  return <progress class="nbfn-Work-bar" aria-label={row.name} {...extent} />;
}
