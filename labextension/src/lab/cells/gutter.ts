import type { EditorState, Range } from '@codemirror/state';
import { RangeSet, StateEffect, StateField } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { gutter, GutterMarker } from '@codemirror/view';
import { lineTitle, linesAbove } from '../../feed/lines';
import type { TracedCellRecord } from '../../protocol';

/** What an editor shows. */
interface Marks {
  cell: TracedCellRecord | null;
  lines: RangeSet<GutterMarker>;
}

/** Marks in the gutter of an editor what is graph and what is Python, as long as its text is the cell's. */
export function markLines(view: EditorView, cell: TracedCellRecord | null): void {
  const known = view.state.field(marks, false);
  if (known === undefined && cell) {
    const first = marks.init(state => marksOf(state, cell));
    view.dispatch({ effects: StateEffect.appendConfig.of([first, column]) });
  } else if (known && known.cell !== cell) {
    view.dispatch({ effects: setCell.of(cell) });
  }
}

class LineMark extends GutterMarker {
  constructor(readonly reason: string | null) {
    super();
    this.elementClass = reason === null ? 'nbfn-mod-graph' : 'nbfn-mod-python';
  }

  override eq(other: LineMark): boolean {
    return this.reason === other.reason;
  }

  override toDOM(): Node {
    const mark = document.createElement('div');
    mark.title = lineTitle(this.reason);
    return mark;
  }
}

const setCell = StateEffect.define<TracedCellRecord | null>();

const marks = StateField.define<Marks>({
  create: state => marksOf(state, null),
  update: (value, transaction) => {
    const effect = transaction.effects.find(one => one.is(setCell));
    return effect || transaction.docChanged
      ? marksOf(transaction.state, effect ? effect.value : value.cell)
      : value;
  }
});

const column = gutter({
  class: 'nbfn-Gutter',
  markers: view => view.state.field(marks).lines
});

function marksOf({ doc }: EditorState, cell: TracedCellRecord | null): Marks {
  const above = cell && linesAbove(doc.toString(), cell);
  const ranges: Range<GutterMarker>[] = [];
  if (cell && above !== null) {
    for (const [number, reason] of Object.entries(cell.lines)) {
      ranges.push(new LineMark(reason).range(doc.line(above + Number(number)).from));
    }
  }
  return { cell, lines: RangeSet.of(ranges) };
}
