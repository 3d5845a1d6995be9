import type { Operation, Operations } from './operations';
import { counted } from './operations';

/** What the colours tell. */
export type ColourBy = 'difference' | 'type' | 'device' | 'nothing';

/** So many colours can be told apart. */
const MAX_COLOURS = 7;

/** What each colour stands for. */
export interface Legend {
  /** The values with a colour of their own, the most frequent first. */
  values: readonly string[];
  /** What of an operation the colours tell. */
  valueOf: (operation: Operation) => string;
}

/** What can be told by colours. */
export function choices({ record, all }: Operations): ColourBy[] {
  const hasDevices = all.some(({ device }) => device !== '');
  return [
    ...(record.sides ? (['difference'] as const) : []),
    'type',
    ...(hasDevices ? (['device'] as const) : []),
    'nothing'
  ];
}

/** What the colours stand for; what an operation stands for is told by its shape. */
export function legendOf({ all }: Operations, by: ColourBy): Legend {
  const valueOf = (operation: Operation): string => {
    if (by === 'device') {
      return operation.device;
    }
    return by === 'type' && operation.role === 'step' ? operation.type : '';
  };
  const values = counted(all.map(valueOf))
    .map(([value]) => value)
    .filter(Boolean);
  return { values: values.slice(0, MAX_COLOURS), valueOf };
}
