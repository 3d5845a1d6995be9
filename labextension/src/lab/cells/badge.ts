import type { EditorState } from '@codemirror/state';
import { StateEffect, StateField } from '@codemirror/state';
import type { DecorationSet } from '@codemirror/view';
import { Decoration, EditorView, WidgetType } from '@codemirror/view';
import { firstLine } from './magic';
import type { Badge } from './summary';

/** What an editor shows. */
interface Shown {
  badge: Badge | null;
  decorations: DecorationSet;
}

/**
 * Shows a badge at the end of the first line of an editor, where a magic leaves room; no text
 * moves, and none is added to the notebook.
 */
export function showBadge(
  view: EditorView,
  badge: Badge | null,
  onClick: () => void
): void {
  const known = view.state.field(shown, false);
  if (known === undefined && badge) {
    const first = shown.init(state => decorated(state, badge, onClick));
    view.dispatch({ effects: StateEffect.appendConfig.of(first) });
  } else if (known && !isSame(known.badge, badge)) {
    view.dispatch({ effects: setBadge.of({ badge, onClick }) });
  }
}

class BadgeWidget extends WidgetType {
  constructor(
    readonly badge: Badge,
    readonly onClick: () => void
  ) {
    super();
  }

  override eq(other: BadgeWidget): boolean {
    return isSame(this.badge, other.badge);
  }

  override toDOM(): HTMLElement {
    const { text, title, isStale } = this.badge;
    const chip = document.createElement('span');
    chip.className = isStale ? 'nbfn-Badge nbfn-mod-stale' : 'nbfn-Badge';
    chip.textContent = text;
    chip.title = title;
    // Screen readers would read it as code; the panel and the cell's output say the same.
    chip.setAttribute('aria-hidden', 'true');
    chip.addEventListener('mousedown', event => {
      event.preventDefault(); // The cursor stays where it is.
      this.onClick();
    });
    return chip;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const setBadge = StateEffect.define<{ badge: Badge | null; onClick: () => void }>();

const shown = StateField.define<Shown>({
  create: () => ({ badge: null, decorations: Decoration.none }),
  update: (value, transaction) => {
    const effect = transaction.effects.find(one => one.is(setBadge));
    if (effect) {
      return decorated(transaction.state, effect.value.badge, effect.value.onClick);
    }
    return transaction.docChanged
      ? { ...value, decorations: value.decorations.map(transaction.changes) }
      : value;
  },
  provide: field => EditorView.decorations.from(field, ({ decorations }) => decorations)
});

function decorated(
  { doc }: EditorState,
  badge: Badge | null,
  onClick: () => void
): Shown {
  const line = doc.lineAt(firstLine(doc.toString()).start);
  const widget = badge && new BadgeWidget(badge, onClick);
  return {
    badge,
    decorations: widget
      ? Decoration.set(Decoration.widget({ widget, side: 1 }).range(line.to))
      : Decoration.none
  };
}

function isSame(one: Badge | null, other: Badge | null): boolean {
  return one?.text === other?.text && one?.title === other?.title;
}
