import { describe, expect, it } from 'vitest';
import { MAX_CHILDREN } from '../../src/pictures/graph/model/grouping';
import { Operations } from '../../src/pictures/graph/model/operations';
import type { Node } from '../../src/pictures/graph/model/node';
import { Frame } from '../../src/pictures/graph/model/tree';
import type { Step } from './graphs';
import { chain, graphOf } from './graphs';

function rootOf(...parts: Step[][]): Node {
  return new Frame(new Operations(graphOf(parts)), 0).root;
}

/** The children of a node as text, with the children of those that are no operations. */
function drawn(node: Node): unknown[] {
  return node.children.map(child =>
    child.operation ? child.label : { [child.label]: drawn(child) }
  );
}

function every(node: Node): Node[] {
  return [
    node,
    ...node.children.flatMap(child => (child.operation ? [] : every(child)))
  ];
}

const named = (...names: string[]): Step[] => names.map(name => ({ name }));

describe('the tree of a graph', () => {
  it('has a box for each scope, in the order of the graph', () => {
    const root = rootOf(named('x', 'a/one', 'a/b/i', 'a/b/j', 'a/b/k', 'a/two', 'y'));
    expect(drawn(root)).toEqual([
      'x',
      { a: ['one', { b: ['i', 'j', 'k'] }, 'two'] },
      'y'
    ]);
    expect(root.children[1]?.operations).toHaveLength(5);
    expect(root.children[1]?.children[1]?.ancestors).toEqual([root.children[1], root]);
  });

  it('makes no box of a scope with few operations, nor one of a scope around a scope', () => {
    const root = rootOf(named('a/MatMul', 'a/MatMul/Read', 'b/c/i', 'b/c/j', 'b/c/k'));
    expect(drawn(root)).toEqual([
      'a/MatMul',
      'a/MatMul/Read',
      { 'b/c': ['i', 'j', 'k'] }
    ]);
  });

  it('counts types, the most frequent first', () => {
    const root = rootOf(
      ['Mul', 'Sin', 'Mul', 'Mul'].map((type, n) => ({ name: `s/${n}`, type }))
    );
    expect(root.children[0]?.types).toEqual([
      ['Mul', 3],
      ['Sin', 1]
    ]);
  });

  it.each([100, 1_500, 10_000])('groups %d operations without scopes', length => {
    const root = rootOf(chain(length));
    expect(root.operations).toHaveLength(length);
    for (const node of every(root)) {
      expect(node.children.length).toBeLessThanOrEqual(MAX_CHILDREN);
    }
    const names = root.operations.map(({ name }) => name);
    expect(names).toEqual(chain(length).map(({ name }) => name));
    const ids = every(root).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('groups those of one type that follow each other', () => {
    const root = rootOf(chain(100, n => (n < 60 ? 'Read' : `T${n}`)).slice(0, 95));
    expect(root.children).toHaveLength(36);
    const [reads] = root.children;
    expect([reads?.label, reads?.operations.length]).toEqual(['Read', 60]);
  });

  it('groups those of one line, if they follow each other', () => {
    const steps = chain(60, n => `T${n}`);
    const root = rootOf(steps.map((step, n) => ({ ...step, place: n < 30 ? 0 : 2 })));
    expect(root.children.map(({ label }) => label)).toEqual([
      'In [4], line 1',
      'In [4], line 3'
    ]);
    const mixed = rootOf(steps.map((step, n) => ({ ...step, place: n % 2 })));
    expect(mixed.children[0]?.label).toBe('op_0 … op_7');
  });

  it('has what an operation calls within it, each time that it is called', () => {
    const root = rootOf(
      [
        { name: 'one', type: 'If', calls: [1] },
        { name: 'two', type: 'If', calls: [1] },
        { name: 'three' }
      ],
      named('cond/a', 'cond/b', 'cond/c')
    );
    const [one, two, three] = root.children;
    expect([one, two, three].map(node => node?.canOpen)).toEqual([true, true, false]);
    expect(one && drawn(one)).toEqual([{ body_1: ['a', 'b', 'c'] }]);
    expect(one?.children[0]?.id).not.toBe(two?.children[0]?.id);
    expect(root.operations).toHaveLength(3);
  });
});
