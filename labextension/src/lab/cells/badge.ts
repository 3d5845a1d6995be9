import { Decoration, EditorView, WidgetType } from '@codemirror/view';
import { editorField } from './editorField';
import { firstLine } from './magic';
import type { Badge } from './summary';

/** A badge that can be pressed. */
type Button = Badge & { onClick: () => void };

/**
 * Shows a badge at the end of the first line of an editor, after a magic. No text moves, and none
 * is added to the notebook.
 */
export function showBadge(
  view: EditorView,
  badge: Badge | null,
  onClick: () => void
): void {
  showButton(view, badge && { ...badge, onClick });
}

class BadgeWidget extends WidgetType {
  constructor(readonly badge: Button) {
    super();
  }

  override eq(other: BadgeWidget): boolean {
    return isSame(this.badge, other.badge);
  }

  override toDOM(): HTMLElement {
    const { text, title, isStale, onClick } = this.badge;
    const chip = document.createElement('span');
    chip.className = isStale ? 'nbfn-Badge nbfn-mod-stale' : 'nbfn-Badge';
    chip.textContent = text;
    chip.title = title;
    // Screen readers would read it as code; the panel and the cell's output have the same text.
    chip.setAttribute('aria-hidden', 'true');
    chip.addEventListener('mousedown', event => {
      event.preventDefault(); // The cursor stays where it is.
      onClick();
    });
    return chip;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const showButton = editorField<Button | null, Decoration>({
  none: null,
  isSame,
  marksOf: (doc, badge) => {
    if (!badge) {
      return Decoration.none;
    }
    const widget = new BadgeWidget(badge);
    const { to } = doc.lineAt(firstLine(doc.toString()).start);
    return Decoration.set(Decoration.widget({ widget, side: 1 }).range(to));
  },
  survives: true,
  provide: field => EditorView.decorations.from(field, ({ marks }) => marks)
});

function isSame(one: Badge | null, other: Badge | null): boolean {
  return one?.text === other?.text && one?.title === other?.title;
}
