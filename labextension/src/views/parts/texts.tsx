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

/** A sentence in which `backticks` enclose code. */
export function Sentence({ text }: { text: string }): VNode {
  const parts = text.split('`');
  // An odd backtick encloses nothing, so the sentence is shown as it is.
  if (parts.length % 2 === 0) {
    return <>{text}</>;
  }
  return (
    <>{parts.map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>
  );
}
