import type { VNode } from 'preact';
import type { RunRecord } from '../../protocol';
import { device, size } from '../../views/parts/format';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';

const HEIGHT = 30;

/** Properties of the memory along time. */
interface MemoryProps {
  runs: ReadonlyMap<string, RunRecord>;
  /** Converts a time to pixels from the left. */
  toPixels: (time: number) => number;
  width: number;
}

/** The bytes in use at the end of a run. */
interface Held {
  end: number;
  bytes: number;
}

/** The memory of the process, or of a device whose memory TensorFlow counts. */
interface Holder {
  name: string;
  label: (now: string, most: string) => string;
  held: readonly Held[];
  /** The peak, which may lie between the ends of runs. */
  most: number;
}

/** The memory of the process and of each device at the end of each run, if it was measured. */
export function Memory({ runs, toPixels, width }: MemoryProps): VNode {
  return (
    <>
      {holdersOf([...runs.values()]).map(holder => (
        <MemoryLane key={holder.name} {...{ holder, toPixels, width }} />
      ))}
    </>
  );
}

/** The memories to draw, that of the process first. */
function holdersOf(runs: readonly RunRecord[]): Holder[] {
  const own = runs.flatMap(({ end, memory }) =>
    memory == null ? [] : [{ end, bytes: memory }]
  );
  const process = {
    name: trans.__('Memory'),
    label: (now: string, most: string) =>
      trans.__('Memory of the process after each run: %1 now, %2 at most', now, most),
    held: own,
    most: Math.max(...own.map(({ bytes }) => bytes))
  };
  const names = new Set(runs.flatMap(({ devices }) => Object.keys(devices ?? {})));
  const devices = [...names].map(full => {
    const name = seen(device(full));
    const known = runs.flatMap(({ end, devices: all }) => {
      const [bytes, peak] = all?.[full] ?? [];
      return bytes === undefined ? [] : [{ end, bytes, peak: peak ?? bytes }];
    });
    return {
      name,
      label: (now: string, most: string) =>
        trans.__('Memory of %1 after each run: %2 now, %3 at most', name, now, most),
      held: known,
      most: Math.max(...known.map(({ peak }) => peak))
    };
  });
  return [process, ...devices].filter(({ held }) => held.length > 0);
}

function MemoryLane(props: {
  holder: Holder;
  toPixels: (time: number) => number;
  width: number;
}): VNode {
  const { holder, toPixels, width } = props;
  const { name, held, most, label } = holder;
  const points = held.map(({ end, bytes }) => {
    const y = HEIGHT - 2 - (most > 0 ? bytes / most : 0) * (HEIGHT - 6);
    return { x: toPixels(end), y, bytes };
  });
  // A step line: each value holds until the next measurement.
  const path = points
    .map(({ x, y }, index) =>
      index === 0
        ? `M ${x.toFixed(1)} ${y.toFixed(1)}`
        : `H ${x.toFixed(1)} V ${y.toFixed(1)}`
    )
    .join(' ');
  const [now, highest] = [size(held.at(-1)?.bytes ?? 0), size(most)];
  return (
    <div class="nbfn-Timeline-lane">
      <div class="nbfn-Timeline-name">
        <span>{name}</span>{' '}
        <span class="nbfn-Note">
          {now === highest ? now : trans.__('%1 now, %2 at most', now, highest)}
        </span>
      </div>
      <svg
        class="nbfn-Timeline-memory"
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={label(now, highest)}
      >
        <path d={path} />
        {points.map(({ x, y, bytes }) => (
          <circle key={x} cx={x} cy={y} r="2">
            <title>{size(bytes)}</title>
          </circle>
        ))}
      </svg>
    </div>
  );
}
