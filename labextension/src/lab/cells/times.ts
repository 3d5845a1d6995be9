import { Decoration, EditorView, WidgetType } from '@codemirror/view';
import type { KernelState } from '../../feed/store';
import { editorField } from './editorField';
import { firstLine } from './magic';

/** The measured time of a line. */
interface TimeMark {
  /** The line of the cell's code, from 1. */
  line: number;
  share: number;
  text: string;
  title: string;
}

/** The measured times of a notebook cell's lines, of all functions with code there. */
export function timesIn(state: KernelState, cellId: string): readonly TimeMark[] {
  return [...state.functions.values()].flatMap(({ name, lines = [] }) =>
    lines.flatMap(({ cell, share, text }) =>
      cell.id === cellId && cell.line != null
        ? [{ line: cell.line, share, text, title: name }]
        : []
    )
  );
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
    // Screen readers would read it as code; the table of the lines has the same text.
    chip.setAttribute('aria-hidden', 'true');
    return chip;
  }
}

/** Shows times at the ends of lines; no text moves, and none is added to the notebook. */
export const showTimes = editorField<readonly TimeMark[], Decoration>({
  none: [],
  isSame: (one, other) => JSON.stringify(one) === JSON.stringify(other),
  marksOf: (doc, times) => {
    // IPython drops empty lines at the beginning.
    const first = doc.lineAt(firstLine(doc.toString()).start).number;
    const ranges = times.flatMap(mark => {
      const number = mark.line + first - 1;
      const widget = new TimeWidget(mark);
      return number <= doc.lines
        ? [Decoration.widget({ widget, side: 1 }).range(doc.line(number).to)]
        : [];
    });
    return Decoration.set(ranges, true);
  },
  survives: false, // The times belong to the text before the edit.
  provide: field => EditorView.decorations.from(field, ({ marks }) => marks)
});
