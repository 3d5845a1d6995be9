import type { ScaleLinear } from 'd3-scale';
import { scaleLinear } from 'd3-scale';

/** A stretch of time, in seconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The axis of times, in units that are seconds where something ran. */
export interface TimeAxis {
  /** The whole time. */
  readonly whole: Span;
  /** Maps a time to its position; a shortened pause takes less space than its seconds. */
  readonly place: ScaleLinear<number, number>;
  /** The pauses that are shortened. */
  readonly pauses: readonly Span[];
}

/** Maximum width of all shortened pauses, relative to that of the runs. */
const PAUSES = 0.3;
const ONE_PAUSE = 0.03;

/** The shortest span that can be shown, in seconds. */
const CLOSEST = 1e-4;

/**
 * An axis of times.
 *
 * @param busy - When something ran, in any order.
 * @param shortens - Whether long pauses are shortened, so that a day with ten minutes of work
 *   can be read.
 */
export function timeAxis(busy: readonly Span[], shortens: boolean): TimeAxis {
  const stretches = joined(busy);
  const first = stretches[0] ?? { from: 0, to: 1 };
  const seconds = stretches.reduce((sum, one) => sum + one.to - one.from, 0);
  const limit =
    seconds * Math.min(ONE_PAUSE, PAUSES / Math.max(stretches.length - 1, 1));
  const times = [first.from];
  const places = [0];
  const pauses: Span[] = [];
  let place = 0;
  let end = first.from;
  for (const { from, to } of stretches) {
    const pause = from - end;
    const isShortened = shortens && pause > limit;
    place += isShortened ? limit : pause;
    if (isShortened) {
      pauses.push({ from: end, to: from });
    }
    mark(from, place);
    place += to - from;
    mark(to, place);
    end = to;
  }
  if (times.length < 2) {
    mark(first.from + CLOSEST, CLOSEST);
  }
  return {
    whole: { from: first.from, to: times.at(-1) ?? first.to },
    place: scaleLinear(times, places),
    pauses
  };

  function mark(time: number, at: number): void {
    if (time > (times.at(-1) ?? 0)) {
      times.push(time);
      places.push(at);
    }
  }
}

/** Stretches in order of time, with overlapping ones merged. */
function joined(spans: readonly Span[]): Span[] {
  const found: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && span.from <= last.to) {
      found[found.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
    } else {
      found.push(span);
    }
  }
  return found;
}

/** A scale from times to pixels that shows a span on a width. */
export type ToPixels = (time: number) => number;

/** Maps times to pixels when a span is shown on a width. */
export function pixels(axis: TimeAxis, shown: Span, width: number): ToPixels {
  const from = axis.place(shown.from);
  const size = axis.place(shown.to) - from || CLOSEST;
  return time => ((axis.place(time) - from) / size) * width;
}

/** The time at a share of the width, if a span is shown. */
export function timeAt(axis: TimeAxis, shown: Span, share: number): number {
  const from = axis.place(shown.from);
  return axis.place.invert(from + share * (axis.place(shown.to) - from));
}

/** The span after zooming in, by a factor above 1, or out, around a share of it. */
export function zoomed(axis: TimeAxis, shown: Span, factor: number, share = 0.5): Span {
  const from = axis.place(shown.from);
  const size = axis.place(shown.to) - from;
  const next = Math.max(size / factor, CLOSEST);
  return within(axis, from + share * (size - next), next);
}

/** The span moved by a share of its length. */
export function panned(axis: TimeAxis, shown: Span, share: number): Span {
  const from = axis.place(shown.from);
  const size = axis.place(shown.to) - from;
  return within(axis, from + share * size, size);
}

/** The span between two times, in any order, at least of the minimum length. */
export function between(axis: TimeAxis, one: number, other: number): Span {
  const [from, to] = [
    axis.place(Math.min(one, other)),
    axis.place(Math.max(one, other))
  ];
  return within(axis, from, Math.max(to - from, CLOSEST));
}

/** A span given by position and size, moved or cut to lie on the axis. */
function within(axis: TimeAxis, from: number, size: number): Span {
  const end = axis.place(axis.whole.to);
  const cut = Math.min(size, end);
  const begin = Math.min(Math.max(from, 0), end - cut);
  return { from: axis.place.invert(begin), to: axis.place.invert(begin + cut) };
}

/** A labelled time. */
interface Tick {
  readonly time: number;
  readonly x: number;
}

const STEPS = [
  ...[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
  ...[60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400]
];

/** Width of a time label in pixels. */
const LABEL = 54;

/** The labelled times: a minimum distance apart, none in a shortened pause. */
export function ticks(axis: TimeAxis, shown: Span, width: number, apart = 74): Tick[] {
  const x = pixels(axis, shown, width);
  const size = axis.place(shown.to) - axis.place(shown.from);
  const wanted = (size / Math.max(width, 1)) * apart;
  const step = STEPS.find(one => one >= wanted) ?? STEPS.at(-1) ?? 1;
  const found: Tick[] = [];
  const add = (time: number): void => {
    const tick = { time, x: x(time) };
    const last = found.at(-1);
    if (tick.x >= 0 && tick.x <= width - LABEL && (!last || tick.x - last.x >= apart)) {
      found.push(tick);
    }
  };
  const pauses = axis.pauses.filter(one => one.to > shown.from && one.from < shown.to);
  // The time is labelled again after each pause: nothing else shows its length.
  const begins = [shown.from, ...pauses.map(one => one.to)];
  const ends = [...pauses.map(one => one.from), shown.to];
  begins.forEach((begin, index) => {
    add(begin);
    const end = ends[index] ?? shown.to;
    const most = Math.ceil(width / apart);
    for (
      let n = 1, time = Math.ceil(begin / step) * step;
      n <= most && time < end;
      n++
    ) {
      add(time);
      time += step;
    }
  });
  return found;
}

/** A time of day as text, as exact as the shown span needs. */
export function clock(time: number, size: number): string {
  const date = new Date(Math.round(time * 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (size > 1800) {
    return minutes;
  }
  const seconds = `${minutes}:${two(date.getSeconds())}`;
  if (size > 10) {
    return seconds;
  }
  const milliseconds = String(date.getMilliseconds()).padStart(3, '0');
  return `${seconds}.${milliseconds.slice(0, size > 0.1 ? 2 : 3)}`;
}
