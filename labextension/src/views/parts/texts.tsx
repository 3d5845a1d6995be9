import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { trans } from '../../words';

/** One fact; the space separates it from the next without styles. */
export function Fact({ children }: { children: ComponentChildren }): VNode {
  return <span class="nbfn-Fact">{children} </span>;
}

/** Visually hidden text, announced by screen readers. */
export function Spoken({ text }: { text: string }): VNode {
  return (
    <span class="nbfn-mod-unseen" role="status">
      {text}
    </span>
  );
}

// Control characters: those of direction, which can disguise text, and other invisible ones; not
// the joiners, which some languages and emoji need.
const HIDDEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

/** User text with each control character replaced by its code. */
export function seen(text: string): string {
  return text.replace(HIDDEN, character => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** Number of characters that fit into three lines of a narrow panel. */
const LONG = 110;

/** A sentence, cut after three lines in a narrow panel, with a button for the rest. */
export function LongSentence({ text }: { text: string }): VNode {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= LONG) {
    return <Sentence text={text} />;
  }
  return (
    <span class="nbfn-Long">
      <span class={isWhole ? undefined : 'nbfn-mod-cut'}>
        <Sentence text={text} />
      </span>
      <button
        type="button"
        class="nbfn-mod-link nbfn-Long-more"
        aria-expanded={isWhole}
        onClick={() => setWhole(!isWhole)}
      >
        {isWhole ? trans.__('less') : trans.__('more')}
      </button>
    </span>
  );
}

/** A sentence in which `backticks` enclose code. */
export function Sentence({ text }: { text: string }): VNode {
  const parts = text.split('`');
  // An odd backtick encloses nothing, so the sentence is shown as it is.
  if (parts.length % 2 === 0) {
    return <>{seen(text)}</>;
  }
  const drawn = parts.map(seen);
  return (
    <>{drawn.map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>
  );
}
