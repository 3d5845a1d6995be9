import type { Text } from '@codemirror/state';
import { RangeSet } from '@codemirror/state';
import { gutter, GutterMarker } from '@codemirror/view';
import { lineTitle, linesAbove } from '../../feed/lines';
import type { TracedCellRecord } from '../../protocol';
import { editorField } from './editorField';

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

/** Marks each line in the gutter of an editor as graph or Python, while its text is the cell's. */
export const markLines = editorField<TracedCellRecord | null, GutterMarker>({
  none: null,
  isSame: (one, other) => one === other,
  marksOf,
  survives: true,
  provide: field =>
    gutter({ class: 'nbfn-Gutter', markers: view => view.state.field(field).marks })
});

function marksOf(doc: Text, cell: TracedCellRecord | null): RangeSet<GutterMarker> {
  const above = cell && linesAbove(doc.toString(), cell);
  if (!cell || above === null) {
    return RangeSet.of<GutterMarker>([]);
  }
  const marks = Object.entries(cell.lines).map(([number, reason]) =>
    new LineMark(reason).range(doc.line(above + Number(number)).from)
  );
  return RangeSet.of(marks);
}
