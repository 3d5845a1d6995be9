import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { describe, expect, it } from 'vitest';
import { Store } from '../../../src/feed/store';
import { showTimes, timesIn } from '../../../src/lab/cells/times';
import { fn, snapshot, table } from '../../records';

const [NAME] = ['f'];
const TEXT = '@nbfn.function\ndef f(x):\n    return x @ x';

function times(cellId: string) {
  const store = new Store();
  const lines = [
    { cell: { id: 'cell-1', line: 3 }, share: 0.9, text: '90 % \u00b7 9 ms' },
    { cell: { id: 'cell-2', line: 1 }, share: 0.1, text: '10 % \u00b7 1 ms' },
    { cell: { file: 'a.py', line: 1 }, share: 0, text: '< 1 %' }
  ];
  store.receive(snapshot({ functions: table(fn({ name: NAME, lines })) }));
  return store.state ? timesIn(store.state, cellId) : [];
}

function editor(text = TEXT) {
  const view = new EditorView({ parent: document.body });
  view.setState(EditorState.create({ doc: text }));
  return view;
}

function seen(view: EditorView): string[] {
  return [...view.dom.querySelectorAll('.cm-line')].map(line => line.textContent);
}

describe('the times of lines', () => {
  it('are those of the lines in a cell, with the function that was measured', () => {
    expect(times('cell-2')).toEqual([
      { line: 1, share: 0.1, text: '10 % \u00b7 1 ms', title: NAME }
    ]);
    expect(times('cell-3')).toEqual([]);
  });

  it('are at the ends of lines, and no part of the text', () => {
    const view = editor();
    showTimes(view, times('cell-1'));
    expect(seen(view)).toEqual([
      '@nbfn.function',
      'def f(x):',
      '    return x @ x90 % \u00b7 9 ms'
    ]);
    expect(view.state.doc.toString()).toBe(TEXT);
    showTimes(view, []);
    expect(seen(view)[2]).toBe('    return x @ x');
  });

  it('are below the empty lines that IPython drops', () => {
    const view = editor(`\n  \n${TEXT}`);
    showTimes(view, times('cell-1'));
    expect(seen(view)[4]).toContain('90 %');
  });

  it('go when the text changes', () => {
    const view = editor();
    showTimes(view, times('cell-1'));
    view.dispatch({ changes: { from: 0, insert: '#' } });
    expect(seen(view)[2]).toBe('    return x @ x');
  });
});
