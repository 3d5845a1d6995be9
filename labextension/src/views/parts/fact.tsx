import type { ComponentChildren, VNode } from 'preact';

/** One fact; the space keeps words apart where styles do not. */
export function Fact({
  title,
  children
}: {
  title?: string;
  children: ComponentChildren;
}): VNode {
  return (
    <span class="nbfn-Fact" title={title}>
      {children}{' '}
    </span>
  );
}
