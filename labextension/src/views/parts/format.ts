import { trans } from '../../words';

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Counts with their nouns, such as "1 trace" or "1,200 traces". */
export const counts = {
  copies: (n: number) =>
    trans._n('%2 copy between devices', '%2 copies between devices', n, integer(n)),
  functions: (n: number) => trans._n('%2 function', '%2 functions', n, integer(n)),
  otherFunctions: (n: number) =>
    trans._n('%2 other function', '%2 other functions', n, integer(n)),
  watchedCalls: (n: number) =>
    trans._n('%2 watched call', '%2 watched calls', n, integer(n)),
  calls: (n: number) => trans._n('%2 call', '%2 calls', n, integer(n)),
  olderTraces: (n: number) =>
    trans._n('%2 older trace', '%2 older traces', n, integer(n)),
  operations: (n: number) => trans._n('%2 operation', '%2 operations', n, integer(n)),
  runs: (n: number) => trans._n('%2 run', '%2 runs', n, integer(n)),
  traces: (n: number) => trans._n('%2 trace', '%2 traces', n, integer(n))
};

/** A whole number with separators, such as "12,345". */
export function integer(n: number): string {
  return numbers.format(n);
}

/** A duration in seconds as text, such as "0.4 ms", "312 ms", "2.41 s", "3 min 5 s" or "2 h 10 min". */
export function duration(seconds: number): string {
  if (!(seconds > 0)) {
    return '0 ms';
  }
  const ms = seconds * 1000;
  if (ms < 0.095) {
    return `${significant(ms * 1000, 2)} µs`;
  }
  if (ms < 999.5) {
    return `${significant(ms, ms < 99.5 ? 2 : 3)} ms`;
  }
  if (seconds < 59.95) {
    return `${significant(seconds, 3)} s`;
  }
  const whole = Math.round(seconds);
  if (whole >= 3600) {
    const minutes = Math.round(seconds / 60);
    return `${integer(Math.floor(minutes / 60))} h ${minutes % 60} min`;
  }
  return `${integer(Math.floor(whole / 60))} min ${whole % 60} s`;
}

/** A size in bytes as text, such as "512 B", "1.5 kB" or "12 MB" (powers of 1000). */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= (unit === 0 ? 1000 : 999.5) && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 ? integer(value) : significant(value, value < 9.95 ? 2 : 3);
  return `${digits} ${units[unit]}`;
}

/** A share in whole percents; a nonzero share is never rounded to 0 %. */
export function percent(share: number): string {
  return share > 0 && share < 0.005 ? '< 1 %' : `${integer(Math.round(share * 100))} %`;
}

/** The short name of a local device, such as "GPU:0". */
export function device(name: string): string {
  const local = /^(?:\/job:localhost\/replica:0\/task:0)?\/(?:device:)?(\w+:\d+)$/.exec(
    name
  );
  return local?.[1] ?? name;
}

/** A number rounded to some digits, such as "2.41" or "1,230"; a tiny one as "1.2e-7". */
function significant(value: number, digits: number): string {
  return value !== 0 && Math.abs(value) < 1e-3
    ? value.toExponential(digits - 1)
    : Number(value.toPrecision(digits)).toLocaleString('en', {
        maximumFractionDigits: digits + 2
      });
}
