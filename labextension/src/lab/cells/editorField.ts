import type { Extension, RangeSet, RangeValue, Text } from '@codemirror/state';
import { StateEffect, StateField } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';

/** A value, and its marks in a text. */
interface Marked<V, M extends RangeValue> {
  value: V;
  marks: RangeSet<M>;
}

/** Defines how editors show a value. */
interface Options<V, M extends RangeValue> {
  /** The value without marks. */
  none: V;
  isSame: (one: V, other: V) => boolean;
  marksOf: (doc: Text, value: V) => RangeSet<M>;
  /** Whether the value stays valid after an edit of the text. */
  survives: boolean;
  /** Draws the marks. */
  provide: (field: StateField<Marked<V, M>>) => Extension;
}

/** Returns a function that shows a value in an editor; its first call adds the field to the editor. */
export function editorField<V, M extends RangeValue>({
  none,
  isSame,
  marksOf,
  survives,
  provide
}: Options<V, M>): (view: EditorView, value: V) => void {
  const setValue = StateEffect.define<V>();
  const marked = (doc: Text, value: V) => ({ value, marks: marksOf(doc, value) });
  const field = StateField.define<Marked<V, M>>({
    create: ({ doc }) => marked(doc, none),
    update: (known, transaction) => {
      const effect = transaction.effects.find(one => one.is(setValue));
      if (effect) {
        return marked(transaction.newDoc, effect.value);
      }
      return transaction.docChanged
        ? marked(transaction.newDoc, survives ? known.value : none)
        : known;
    },
    provide
  });
  return (view, value) => {
    const known = view.state.field(field, false);
    if (!isSame(known ? known.value : none, value)) {
      const effects = known
        ? setValue.of(value)
        : StateEffect.appendConfig.of(field.init(({ doc }) => marked(doc, value)));
      view.dispatch({ effects });
    }
  };
}
