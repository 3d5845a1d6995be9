import type { CodePlace, GraphRecord, OperationTimeRecord } from '../../../protocol';

const VALUE = 'value: ';

/** How an operation differs between two graphs. */
export type Mark = 'removed' | 'added' | 'changed';

/** The first or the second of two graphs, or both merged. */
export type Side = 'both' | 'first' | 'second';

/** The role of an operation. */
type Role = 'input' | 'capture' | 'constant' | 'output' | 'step';

/** An input: a result of another operation. */
interface Taken {
  source: number;
  result: number;
}

/** An operation of a part of a graph. */
export interface Operation {
  part: number;
  number: number;
  name: string;
  type: string;
  inputs: readonly Taken[];
  /** Dtype and shape of each result. */
  results: readonly string[];
  device: string;
  /** Index of the user's line among the places. */
  place: number | null;
  /** The parts that it calls. */
  calls: readonly number[];
  /** Its control inputs. */
  controls: readonly number[];
  /** Its time in the measured call; null if it did not run. */
  time: OperationTimeRecord | null;
  /** Whether this graph has it; false if only the other of two graphs has it. */
  isHere: boolean;
  role: Role;
  /** The notebook's name of a capture, or the value of a constant. */
  stands: string | null;
  mark: Mark | null;
  /** The differences as text. */
  changes: readonly string[];
}

/** The operations of a graph by part, built from a record on demand. */
export class Operations {
  constructor(
    readonly record: GraphRecord,
    readonly side: Side = 'both'
  ) {}

  /** The operations of a part by number, including those that only the other graph has. */
  of(part: number): readonly Operation[] {
    return (this._parts[part] ??= this._read(part));
  }

  /** Each operation of each part. */
  get all(): readonly Operation[] {
    return (this._all ??= this.record.parts.flatMap((_, part) =>
      this.of(part).filter(({ isHere }) => isHere)
    ));
  }

  /** The number of operations with control inputs. */
  get controlled(): number {
    return this.all.filter(({ controls }) => controls.length > 0).length;
  }

  /** The operation of a part that computes an input. */
  source(operation: Operation, taken: Taken): Operation | undefined {
    return this.of(operation.part)[taken.source];
  }

  /** The consumers of an operation's results. */
  takers(operation: Operation): readonly Operation[] {
    const { part, number } = operation;
    this._takers[part] ??= takersOf(this.of(part));
    return this._takers[part][number] ?? [];
  }

  /** The user's line that made an operation. */
  place({ place }: Operation): CodePlace | null {
    return place === null ? null : (this.record.places[place] ?? null);
  }

  private _read(part: number): Operation[] {
    const { record, side } = this;
    const columns = record.parts[part];
    if (!columns) {
      return [];
    }
    const text = (index: number | undefined): string => record.texts[index ?? -1] ?? '';
    const isWhole = part === 0;
    const [inputs, outputs] = [record.inputs, record.outputs].map(
      numbers => new Set(isWhole ? numbers : [])
    );
    const marks = new Map<number, Mark>();
    if (isWhole) {
      record.removed.forEach(number => marks.set(number, 'removed'));
      record.added.forEach(number => marks.set(number, 'added'));
      Object.keys(record.changed).forEach(number => marks.set(+number, 'changed'));
    }
    const missing = side === 'first' ? 'added' : 'removed';
    return columns.names.map((name, number) => {
      const before = side === 'first' && isWhole ? record.before?.[number] : undefined;
      const type = text(before?.type ?? columns.types[number]);
      const changes = (isWhole ? record.changed[number] : null) ?? [];
      // Both values of a constant that differs between two graphs.
      const changed =
        side === 'both' && changes[0]?.startsWith(VALUE)
          ? changes[0].slice(VALUE.length)
          : null;
      const captured = (isWhole ? record.captures[number] : null) ?? null;
      return {
        part,
        number,
        name,
        type,
        inputs: pairs(before?.inputs ?? columns.inputs[number] ?? []),
        results: (before?.outputs ?? columns.outputs[number] ?? []).map(text),
        device: text(before?.device ?? columns.devices[number]),
        place: (before ? before.place : columns.places[number]) ?? null,
        calls: (before ? before.calls : columns.calls[number]) ?? [],
        controls: (before ? before.controls : columns.controls?.[number]) ?? [],
        time: columns.times?.[number] ?? null,
        isHere: side === 'both' || marks.get(number) !== missing,
        role: roleOf(
          type,
          captured !== null,
          inputs?.has(number) === true || (!isWhole && type === 'Placeholder'),
          outputs?.has(number) === true
        ),
        stands:
          captured ??
          changed ??
          (before ? before.value : columns.values[number]) ??
          null,
        mark: marks.get(number) ?? null,
        changes
      };
    });
  }

  private readonly _parts: Operation[][] = [];
  private readonly _takers: Operation[][][] = [];
  private _all: readonly Operation[] | null = null;
}

/** The last part of an operation's name. */
export function shortName({ name }: Operation): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function roleOf(
  type: string,
  isCapture: boolean,
  isInput: boolean,
  isOutput: boolean
): Role {
  if (isCapture) return 'capture';
  if (isInput) return 'input';
  if (isOutput) return 'output';
  return type === 'Const' ? 'constant' : 'step';
}

function pairs(flat: readonly number[]): Taken[] {
  const found: Taken[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    found.push({ source: flat[at] ?? 0, result: flat[at + 1] ?? 0 });
  }
  return found;
}

function takersOf(operations: readonly Operation[]): Operation[][] {
  const found: Operation[][] = operations.map(() => []);
  for (const operation of operations.filter(({ isHere }) => isHere)) {
    for (const source of new Set(operation.inputs.map(taken => taken.source))) {
      found[source]?.push(operation);
    }
  }
  return found;
}
