import type { Operation } from './operations';

/** A result of an operation; of an operation that has none, the operation itself. */
export interface End {
  operation: Operation;
  result: number;
}

/** The inputs and outputs chosen for carving. */
export interface Ends {
  input: readonly End[];
  output: readonly End[];
}

/** The ends with one added, or removed if present; none is both input and output. */
export function toggled(ends: Ends, side: 'input' | 'output', end: End): Ends {
  const other = side === 'input' ? 'output' : 'input';
  const without = (all: readonly End[]): End[] =>
    all.filter(each => !isSame(each, end));
  const rest = without(ends[side]);
  const isNew = rest.length === ends[side].length;
  return {
    ...ends,
    [side]: isNew ? [...rest, end] : rest,
    [other]: without(ends[other])
  };
}

/** Whether an end is in a list. */
export function has(ends: readonly End[], end: End): boolean {
  return ends.some(each => isSame(each, end));
}

/** TensorFlow's name for it; an only result has the name of its operation. */
export function nameOf({ operation, result }: End): string {
  const { name, results } = operation;
  return results.length > 1 ? `${name}:${result}` : name;
}

/** Python code that carves the part between them out of a trace. */
export function carvingCode(trace: string, { input, output }: Ends): string {
  const [inputs, outputs] = [input, output].map(
    // A string of JSON is one of Python, too.
    ends => `[${ends.map(end => JSON.stringify(nameOf(end))).join(', ')}]`
  );
  return `carved = ${trace}.carve(${inputs}, ${outputs})\ncarved`;
}

function isSame(one: End, other: End): boolean {
  return one.operation === other.operation && one.result === other.result;
}
