import { counted } from '../../../feed/lookup';
import type { Mark, Operation, Operations } from './operations';

/** The context of a node: the graph, or a function at its call. */
export interface Home {
  readonly graph: Operations;
  /** The part of the graph. */
  readonly part: number;
  readonly root: Node;
  /** The node of each operation. */
  readonly leaves: readonly Node[];
  /** The functions that an operation calls. */
  bodiesOf(node: Node): readonly Node[];
}

/**
 * A node that is drawn as one box while closed: an operation, a scope, a group of operations
 * without a scope, or the body of a called function.
 */
export class Node {
  /** The parent node; null for the whole graph. */
  parent: Node | null = null;

  constructor(
    readonly id: string,
    readonly kind: 'whole' | 'scope' | 'group' | 'body' | 'operation',
    /** Its name within the parent. */
    public label: string,
    readonly frame: Home,
    readonly operation: Operation | null,
    private _children: readonly Node[] | null
  ) {
    this._adopt();
  }

  /** Its children; for an operation, the functions that it calls. */
  get children(): readonly Node[] {
    if (this._children === null) {
      this._children = this.frame.bodiesOf(this);
      this._adopt();
    }
    return this._children;
  }

  /** Whether it can be opened. */
  get canOpen(): boolean {
    return this.operation ? this.operation.calls.length > 0 : true;
  }

  /** Its operations, without those of called functions. */
  get operations(): readonly Operation[] {
    return (this._operations ??= this.operation
      ? [this.operation]
      : this.children.flatMap(child => child.operations));
  }

  /** The number of operations of each type, the most frequent first. */
  get types(): readonly (readonly [string, number])[] {
    return (this._types ??= counted(this.operations.map(({ type }) => type)));
  }

  /** The time of its operations in the measured call, including called functions. */
  get seconds(): number {
    return (this._seconds ??= this.operations.reduce(
      (sum, { time }) => sum + (time?.seconds ?? 0) + (time?.within ?? 0),
      0
    ));
  }

  /** The number of its operations with each mark. */
  get marks(): ReadonlyMap<Mark, number> {
    return (this._marks ??= new Map(
      counted(this.operations.flatMap(({ mark }) => (mark ? [mark] : [])))
    ));
  }

  /** Its ancestors, the innermost first. */
  get ancestors(): Node[] {
    const { parent } = this;
    return parent ? [parent, ...parent.ancestors] : [];
  }

  private _adopt(): void {
    this._children?.forEach(child => (child.parent = this));
  }

  private _operations: readonly Operation[] | null = null;
  private _seconds: number | null = null;
  private _types: readonly (readonly [string, number])[] | null = null;
  private _marks: ReadonlyMap<Mark, number> | null = null;
}
