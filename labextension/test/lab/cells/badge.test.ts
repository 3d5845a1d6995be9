import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { describe, expect, it, vi } from 'vitest';
import { showBadge } from '../../../src/lab/cells/badge';

const [title] = ['train'];
const BADGE = { text: '1 trace', title, isStale: false };
const TEXT = '\n%%tf_function\ntrain()';

function editor() {
  const view = new EditorView({ parent: document.body });
  view.setState(EditorState.create({ doc: TEXT }));
  return view;
}

function seen(view: EditorView): string[] {
  return [...view.dom.querySelectorAll('.cm-line')].map(line => line.textContent);
}

describe('the badge', () => {
  it('is at the end of the first line that is not empty, and no part of the text', () => {
    const view = editor();
    showBadge(view, BADGE, () => undefined);
    expect(seen(view)).toEqual(['', '%%tf_function1 trace', 'train()']);
    expect(view.state.doc.toString()).toBe(TEXT);
    showBadge(view, { ...BADGE, text: '2 traces' }, () => undefined);
    expect(seen(view)[1]).toBe('%%tf_function2 traces');
    showBadge(view, null, () => undefined);
    expect(seen(view)[1]).toBe('%%tf_function');
  });

  it('stays while the text is edited', () => {
    const view = editor();
    showBadge(view, BADGE, () => undefined);
    view.dispatch({ changes: { from: 14, insert: ' train' } });
    expect(seen(view)[1]).toBe('%%tf_function train1 trace');
    view.dispatch({ changes: { from: 20, insert: '\n' } });
    expect(seen(view).slice(1, 3)).toEqual(['%%tf_function train1 trace', '']);
    view.dispatch({ changes: { from: 18, to: 21 } });
    expect(seen(view)[1]).toBe('%%tf_function tra1 trace');
  });

  it('calls its listener when it is pressed', () => {
    const view = editor();
    const listener = vi.fn();
    showBadge(view, BADGE, listener);
    const press = new MouseEvent('mousedown', { bubbles: true, cancelable: true });
    view.dom.querySelector('.nbfn-Badge')?.dispatchEvent(press);
    expect(listener).toHaveBeenCalledOnce();
    expect(press.defaultPrevented).toBe(true);
  });
});
