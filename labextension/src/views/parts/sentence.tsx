import type { VNode } from 'preact';

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
