import { act } from 'preact/test-utils';
import type { GraphRecord, OperationTimeRecord } from '../../src/protocol';
import { appears, one, page, words } from '../page';
import { snapshot } from '../records';

const [TITLE] = ['f, trace 1 (x: float32[2])'];

/** An operation in short: its name, type, and what it takes, such as "x" or "split:1". */
export interface Step {
  name: string;
  type?: string;
  takes?: readonly string[];
  results?: readonly string[];
  place?: number;
  device?: string;
  calls?: readonly number[];
  value?: string;
  /** Names of those that it waits for. */
  after?: readonly string[];
  time?: OperationTimeRecord;
}

/** Values of a record beside its parts. */
export type Rest = Partial<Omit<GraphRecord, 'parts' | 'texts'>>;

/** The record of a graph, whose further parts are functions that it calls. */
export function graphOf(
  parts: readonly (readonly Step[])[],
  rest: Rest = {}
): GraphRecord {
  const texts: string[] = [];
  const text = (value: string): number => {
    if (!texts.includes(value)) texts.push(value);
    return texts.indexOf(value);
  };
  return {
    title: TITLE,
    trace: 'f.traces[0]',
    save: '%tf_graph f --trace 1 --save',
    places: [1, 2, 3].map(line => ({ id: 'cell-1', execution_count: 4, line })),
    inputs: [],
    outputs: [],
    captures: {},
    total: parts.reduce((sum, steps) => sum + steps.length, 0),
    sides: null,
    removed: [],
    added: [],
    changed: {},
    ...rest,
    parts: parts.map((steps, part) => {
      const numbers = new Map(steps.map(({ name }, number) => [name, number]));
      const kept = <T>(of: (step: Step) => T | undefined): Record<number, T> =>
        Object.fromEntries(
          steps.flatMap((step, number) => {
            const value = of(step);
            return value === undefined ? [] : [[number, value]];
          })
        );
      return {
        name: part === 0 ? '' : `body_${part}`,
        names: steps.map(({ name }) => name),
        types: steps.map(({ name, type }) => text(type ?? name)),
        inputs: steps.map(({ takes = [] }) =>
          takes.flatMap(taken => {
            const [name = '', result = '0'] = taken.split(':');
            return [numbers.get(name) ?? -1, Number(result)];
          })
        ),
        outputs: steps.map(({ results = ['float32[2]'] }) => results.map(text)),
        devices: steps.map(({ device = '' }) => text(device)),
        places: steps.map(({ place }) => place ?? null),
        calls: kept(({ calls }) => calls && [...calls]),
        values: kept(({ value }) => value),
        controls: kept(({ after }) => after?.map(name => numbers.get(name) ?? -1)),
        times: kept(({ time }) => time)
      };
    }),
    texts
  };
}

/** A chain of operations. */
export function chain(length: number, type = (n: number) => `T${n % 3}`): Step[] {
  return Array.from({ length }, (_, n) => ({
    name: `op_${n}`,
    type: type(n),
    takes: n > 0 ? [`op_${n - 1}`] : []
  }));
}

/** The picture of a graph on the page. */
export async function drawn(graph: GraphRecord): Promise<HTMLElement> {
  const { element } = page(snapshot(), { view: 'graph', graph });
  await appears(element, '.nbfn-Graph, .nbfn-Empty');
  return element;
}

/** The box with this title. */
export function boxOf(element: Element, title: string): HTMLElement {
  const found = [...element.querySelectorAll<HTMLElement>('.nbfn-Graph-box')].find(
    box => words(one(box, '.nbfn-Graph-title')) === title
  );
  if (!found) throw new Error(`no box ${title}`);
  return found;
}

/** Presses something in the picture. */
export async function click(target: Element, name = 'click'): Promise<void> {
  await act(() => {
    target.dispatchEvent(new MouseEvent(name, { bubbles: true }));
  });
}

/** What stands beside the picture. */
export function side(element: HTMLElement): string {
  return words(one(element, '.nbfn-Graph-side'));
}
