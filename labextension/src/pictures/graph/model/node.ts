import { counted } from '../../../feed/lookup';
import type { Mark, Operation, Operations } from './operations';

/** Where a node is: in the graph, or in a function where that is called. */
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
 * What is drawn as one thing as long as it is closed: an operation; a scope; a group of many that
 * have no scope; or the body of a function that an operation calls.
 */
export class Node {
  /** The node that it is in; null for the whole graph. */
  parent: Node | null = null;

  constructor(
    readonly id: string,
    readonly kind: 'whole' | 'scope' | 'group' | 'body' | 'operation',
    /** Its name within the one that it is in. */
    public label: string,
    readonly frame: Home,
    readonly operation: Operation | null,
    private _children: readonly Node[] | null
  ) {
    this._adopt();
  }

  /** What is in it; of an operation, the functions that it calls. */
  get children(): readonly Node[] {
    if (this._children === null) {
      this._children = this.frame.bodiesOf(this);
      this._adopt();
    }
    return this._children;
  }

  /** Whether there is anything to see inside. */
  get canOpen(): boolean {
    return this.operation ? this.operation.calls.length > 0 : true;
  }

  /** Its operations, without those of called functions. */
  get operations(): readonly Operation[] {
    return (this._operations ??= this.operation
      ? [this.operation]
      : this.children.flatMap(child => child.operations));
  }

  /** How many operations of each type it has, the most frequent first. */
  get types(): readonly (readonly [string, number])[] {
    return (this._types ??= counted(this.operations.map(({ type }) => type)));
  }

  /** What its operations took in the call that was measured, with what they call. */
  get seconds(): number {
    return (this._seconds ??= this.operations.reduce(
      (sum, { time }) => sum + (time?.seconds ?? 0) + (time?.within ?? 0),
      0
    ));
  }

  /** How many of its operations have each mark. */
  get marks(): ReadonlyMap<Mark, number> {
    return (this._marks ??= new Map(
      counted(this.operations.flatMap(({ mark }) => (mark ? [mark] : [])))
    ));
  }

  /** Those that it is in, the innermost first. */
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
