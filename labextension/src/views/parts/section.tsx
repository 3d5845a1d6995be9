import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';

/** Properties of a section. */
export interface SectionProps {
  title: ComponentChildren;
  /** The text at the end of the title's line. */
  note?: ComponentChildren;
  /** Explains the note, on hover. */
  hint?: string | undefined;
  /** Whether it is open by default. */
  open?: boolean;
  class: string;
  /** Draws the content, which exists only while the section is open. */
  children: () => ComponentChildren;
}

/** A collapsible part, whose content is drawn only while it is open. */
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
