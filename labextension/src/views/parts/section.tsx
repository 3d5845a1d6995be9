import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';

/** Properties of a section. */
export interface SectionProps {
  title: ComponentChildren;
  /** What stands at the end of the title's line. */
  note?: ComponentChildren;
  /** What that means, where it is not plain. */
  hint?: string | undefined;
  /** Whether it is open at first. */
  open?: boolean;
  class: string;
  /** Draws the content, which exists only while the section is open. */
  children: () => ComponentChildren;
}

/** A part that can be closed, and costs nothing while it is. */
export function Section(props: SectionProps): VNode {
  const [open, setOpen] = useState(props.open ?? false);
  return (
    <details
      class={props.class}
      open={open}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary class={`${props.class}-summary`}>
        <span class={`${props.class}-title`}>{props.title}</span>{' '}
        {props.note != null && (
          <span class="nbfn-Note" title={props.hint}>
            {props.note}
          </span>
        )}
      </summary>
      {open && <div class={`${props.class}-content`}>{props.children()}</div>}
    </details>
  );
}
