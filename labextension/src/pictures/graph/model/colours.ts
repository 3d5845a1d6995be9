import { counted } from '../../../feed/lookup';
import { duration } from '../../../views/parts/format';
import { trans } from '../../../words';
import type { Operation, Operations } from './operations';
import type { Node } from './node';

/** The property that colours show. */
export type ColourBy = 'difference' | 'time' | 'type' | 'device' | 'nothing';

/** Number of distinguishable colours. */
const MAX_COLOURS = 7;

/** Number of steps in the scale of times; the last has no lower end. */
const STEPS = 6;

/** The meaning of each colour. */
export interface Legend {
  by: ColourBy;
  /** The values with a separate colour; the most frequent, or the longest time, first. */
  values: readonly string[];
  /** The number of each colour of a node, and its share of the node. */
  coloursOf: (node: Node) => readonly (readonly [number, number])[];
}

/** The properties that colours can show. */
export function choices({ record, all }: Operations): ColourBy[] {
  const hasDevices = all.some(({ device }) => device !== '');
  return [
    ...(record.sides ? (['difference'] as const) : []),
    ...(record.times ? (['time'] as const) : []),
    'type',
    ...(hasDevices ? (['device'] as const) : []),
    'nothing'
  ];
}

/** The legend of the colours; the shape of a box shows the role of its operation. */
export function legendOf({ all }: Operations, by: ColourBy): Legend {
  if (by === 'time') {
    return scaleOf(all);
  }
  const valueOf = (operation: Operation): string => {
    if (by === 'device') {
      return operation.device;
    }
    return by === 'type' && operation.role === 'step' ? operation.type : '';
  };
  const values = counted(all.map(valueOf))
    .map(([value]) => value)
    .filter(Boolean)
    .slice(0, MAX_COLOURS);
  const coloursOf = ({ operations }: Node): [number, number][] =>
    counted(operations.map(each => values.indexOf(valueOf(each))))
      .filter(([colour]) => colour >= 0)
      .map(([colour, many]) => [colour, many / operations.length]);
  return { by, values, coloursOf };
}

/** Lower ends of the steps of times, each about three times the next, as times differ by powers of ten. */
function scaleOf(all: readonly Operation[]): Legend {
  const most = all.reduce((max, { time }) => Math.max(max, secondsOf(time)), 0);
  const decade = most > 0 ? Math.floor(Math.log10(most)) : 0;
  // Powers are not exact: 0.003 would be less than three thousandths.
  const isThird = most >= 3 * 10 ** decade * (1 - 1e-9);
  const ends = Array.from({ length: STEPS - 1 }, (_, step) => {
    const down = step + (isThird ? 0 : 1);
    return (down % 2 === 0 ? 3 : 1) * 10 ** (decade - Math.floor(down / 2));
  });
  const values = ends.map((end, step) => {
    const above = ends[step - 1];
    return above === undefined
      ? trans.__('%1 and more', duration(end))
      : trans.__('%1 to %2', duration(end), duration(above));
  });
  values.push(trans.__('less'));
  const coloursOf = ({ seconds }: Node): [number, number][] => {
    const step = ends.findIndex(end => seconds >= end * (1 - 1e-9));
    return seconds > 0 ? [[step < 0 ? STEPS - 1 : step, 1]] : [];
  };
  return { by: 'time', values: most > 0 ? values : [], coloursOf };
}

function secondsOf(time: Operation['time']): number {
  return (time?.seconds ?? 0) + (time?.within ?? 0);
}
