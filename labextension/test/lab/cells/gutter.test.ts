import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { describe, expect, it } from 'vitest';
import { linesAbove } from '../../../src/feed/lines';
import { markLines } from '../../../src/lab/cells/gutter';
import type { TracedCellRecord } from '../../../src/protocol';
import { tracedCell } from '../../records';

const BODY = '# begins\nfor x in data:\n    y = f(x)\n    print(y)';
const TEXT = `%%tf_function train\n${BODY}`;

describe('the text of a cell', () => {
  it('is that of its record, whatever stands on the line of the magic', () => {
    expect(linesAbove(TEXT, tracedCell())).toBe(0);
    expect(linesAbove(`%%tf_function\n${BODY}\n\n`, tracedCell())).toBe(0);
    expect(linesAbove(BODY, tracedCell({ source: BODY }))).toBe(0);
  });

  it('begins below empty lines, and may be indented', () => {
    const indented = TEXT.replace(/^/gm, '  ');
    expect(linesAbove(`\n\n${indented}`, tracedCell())).toBe(2);
  });

  it('holds calls in place of the magics of IPython', () => {
    const source = "\nget_ipython().run_line_magic('time', 'f(x)')\ny = 1\n";
    expect(linesAbove('%%tf_function\n%time f(x)\ny = 1', tracedCell({ source }))).toBe(
      0
    );
  });

  it('is another once a line has changed, is new or has gone', () => {
    for (const text of [
      TEXT.replace('print', 'show'),
      `${TEXT}\ny`,
      TEXT.replace('\n    print(y)', ''),
      '',
      'train()'
    ]) {
      expect(linesAbove(text, tracedCell())).toBeNull();
    }
  });
});

describe('the gutter', () => {
  function editor(text = TEXT) {
    const view = new EditorView({ parent: document.body });
    view.setState(EditorState.create({ doc: text }));
    return view;
  }

  function marked(view: EditorView): (string | null)[] {
    return [...view.dom.querySelectorAll('.nbfn-Gutter [title]')].map(mark =>
      mark.getAttribute('title')
    );
  }

  const ALL = ['Python: a loop', 'runs in a graph', 'Python: prints'];

  it('is not there before there is something to mark', () => {
    const view = editor();
    markLines(view, null);
    expect(view.dom.querySelector('.nbfn-Gutter')).toBeNull();
  });

  it('marks lines, until the text is edited or the cell is gone', () => {
    const view = editor();
    const cell: TracedCellRecord = tracedCell();
    markLines(view, cell);
    expect(marked(view)).toEqual(ALL);
    view.dispatch({ changes: { from: view.state.doc.length, insert: '  + 1' } });
    expect(marked(view)).toEqual([]);
    markLines(view, cell);
    expect(marked(view)).toEqual([]);
    const { length } = view.state.doc;
    view.dispatch({ changes: { from: length - 5, to: length } });
    expect(marked(view)).toEqual(ALL);
    markLines(view, null);
    expect(marked(view)).toEqual([]);
  });

  it('takes what the next run says', () => {
    const view = editor();
    markLines(view, tracedCell());
    markLines(view, tracedCell({ lines: { 4: 'has not run' } }));
    expect(marked(view)).toEqual(['Python: has not run']);
  });
});
