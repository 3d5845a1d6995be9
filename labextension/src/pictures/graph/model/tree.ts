import { grouped } from './grouping';
import type { Home } from './node';
import { Node } from './node';
import type { Operations } from './operations';

/** Minimum number of operations of a scope with a separate box. */
const WORTH_A_BOX = 3;

/** The graph, or a called function at its call: edges do not leave it. */
export class Frame implements Home {
  readonly root: Node;
  /** The node of each operation. */
  readonly leaves: readonly Node[];

  constructor(
    readonly graph: Operations,
    readonly part: number,
    private readonly _id = ''
  ) {
    this.leaves = graph.of(part).map(operation => {
      const bodies = operation.calls.length > 0 ? null : [];
      const id = `${_id}o${operation.number}`;
      return new Node(id, 'operation', operation.name, this, operation, bodies);
    });
    const isWhole = _id === '';
    let scope = scopesOf(this.leaves.filter(({ operation }) => operation?.isHere));
    let [only] = scope.items;
    // Within a loop, the loop's name is omitted.
    while (!isWhole && scope.items.length === 1 && only && !(only instanceof Node)) {
      scope = only;
      [only] = scope.items;
    }
    const label = graph.record.parts[part]?.name ?? '';
    const children = this._nodesOf(scope, scope.path);
    const kind = isWhole ? 'whole' : 'body';
    this.root = new Node(`${_id}r`, kind, label, this, null, children);
  }

  /** The functions that an operation calls. */
  bodiesOf({ id, operation }: Node): Node[] {
    return (operation?.calls ?? []).map(
      part => new Frame(this.graph, part, `${id}>${part}:`).root
    );
  }

  /** The nodes of a scope; names are relative to the visible path. */
  private _nodesOf(scope: Scope, seen: string): readonly Node[] {
    const found: Node[] = [];
    const collect = (from: Scope): void => {
      for (const item of from.items) {
        if (item instanceof Node) {
          item.label = within(item.label, seen);
          found.push(item);
        } else if (item.size < WORTH_A_BOX) {
          collect(item);
        } else {
          found.push(this._boxOf(item, seen));
        }
      }
    };
    collect(scope);
    return grouped(found, (id, label, children) => {
      return new Node(`${this._id}${id}`, 'group', label, this, null, children);
    });
  }

  private _boxOf(scope: Scope, seen: string): Node {
    const [only, more] = scope.items;
    if (only && !more && !(only instanceof Node)) {
      return this._boxOf(only, seen);
    }
    const { path } = scope;
    const children = this._nodesOf(scope, path);
    const id = `${this._id}s${path}`;
    return new Node(id, 'scope', within(path, seen), this, null, children);
  }
}

interface Scope {
  path: string;
  items: (Node | Scope)[];
  scopes: Map<string, Scope>;
  size: number;
}

function newScope(path: string): Scope {
  return { path, items: [], scopes: new Map(), size: 0 };
}

function scopesOf(leaves: readonly Node[]): Scope {
  const whole = newScope('');
  for (const leaf of leaves) {
    let scope = whole;
    scope.size += 1;
    for (const part of leaf.label.split('/').slice(0, -1)) {
      let inner = scope.scopes.get(part);
      if (!inner) {
        inner = newScope(scope.path ? `${scope.path}/${part}` : part);
        scope.scopes.set(part, inner);
        scope.items.push(inner);
      }
      scope = inner;
      scope.size += 1;
    }
    scope.items.push(leaf);
  }
  return whole;
}

function within(path: string, seen: string): string {
  return seen ? path.slice(seen.length + 1) : path;
}
