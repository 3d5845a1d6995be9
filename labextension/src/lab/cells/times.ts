import type { EditorState, Range } from '@codemirror/state';
import { StateEffect, StateField } from '@codemirror/state';
import type { DecorationSet } from '@codemirror/view';
import { Decoration, EditorView, WidgetType } from '@codemirror/view';
import type { KernelState } from '../../feed/store';
import { firstLine } from './magic';

/** What a line took in a call that was measured. */
export interface TimeMark {
  /** The line of the cell's code, from 1. */
  line: number;
  share: number;
  text: string;
  title: string;
}

/** What the lines of a notebook cell took, of all functions that have code there. */
export function timesIn(state: KernelState, cellId: string): readonly TimeMark[] {
  return [...state.functions.values()].flatMap(({ name, lines = [] }) =>
    lines.flatMap(({ cell, share, text }) =>
      cell.id === cellId && cell.line != null
        ? [{ line: cell.line, share, text, title: name }]
        : []
    )
  );
}

/** Shows times at the ends of lines; no text moves, and none is added to the notebook. */
export function showTimes(view: EditorView, times: readonly TimeMark[]): void {
  const known = view.state.field(shown, false);
  if (known === undefined) {
    if (times.length > 0) {
      const first = shown.init(state => decorated(state, times));
      view.dispatch({ effects: StateEffect.appendConfig.of(first) });
    }
  } else if (JSON.stringify(known.times) !== JSON.stringify(times)) {
    view.dispatch({ effects: setTimes.of(times) });
  }
}

class TimeWidget extends WidgetType {
  constructor(readonly mark: TimeMark) {
    super();
  }

  override eq({ mark }: TimeWidget): boolean {
    return this.mark.text === mark.text && this.mark.title === mark.title;
  }

  override toDOM(): HTMLElement {
    const { text, title, share } = this.mark;
    const chip = document.createElement('span');
    chip.className = 'nbfn-LineTime';
    chip.textContent = text;
    chip.title = title;
    chip.style.setProperty('--nbfn-share', `${(share * 100).toFixed(1)}%`);
    // Screen readers would read it as code; the table of the lines says the same.
    chip.setAttribute('aria-hidden', 'true');
    return chip;
  }
}

interface Shown {
  times: readonly TimeMark[];
  decorations: DecorationSet;
}

const setTimes = StateEffect.define<readonly TimeMark[]>();

const shown = StateField.define<Shown>({
  create: () => ({ times: [], decorations: Decoration.none }),
  update: (value, transaction) => {
    const effect = transaction.effects.find(one => one.is(setTimes));
    if (effect) {
      return decorated(transaction.state, effect.value);
    }
    // The times are of another text.
    return transaction.docChanged ? { times: [], decorations: Decoration.none } : value;
  },
  provide: field => EditorView.decorations.from(field, ({ decorations }) => decorations)
});

function decorated({ doc }: EditorState, times: readonly TimeMark[]): Shown {
  // IPython drops empty lines at the beginning.
  const first = doc.lineAt(firstLine(doc.toString()).start).number;
  const ranges: Range<Decoration>[] = times.flatMap(mark => {
    const number = mark.line + first - 1;
    const widget = new TimeWidget(mark);
    return number <= doc.lines
      ? [Decoration.widget({ widget, side: 1 }).range(doc.line(number).to)]
      : [];
  });
  return { times, decorations: Decoration.set(ranges, true) };
}
