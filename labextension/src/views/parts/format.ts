const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** A count with its noun, such as "1 trace" or "1,200 traces". */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${numbers.format(n)} ${n === 1 ? one : many}`;
}

/** A whole number with separators, such as "12,345". */
export function integer(n: number): string {
  return numbers.format(n);
}

/** A duration in seconds as text, such as "0.4 ms", "312 ms", "2.41 s" or "3 min 5 s". */
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

/** How many times as much something is, such as "4.1×" or "120×". */
export function ratio(value: number): string {
  return `${significant(value, value < 99.5 ? 2 : 3)}×`;
}

/** A shape as text, such as "[3, ?]"; "[]" for a scalar, "?" for an unknown rank. */
export function shape(dimensions: readonly (number | null)[] | null): string {
  return dimensions ? `[${dimensions.map(d => d ?? '?').join(', ')}]` : '?';
}

/** A device without the parts that are the same for all of a notebook, such as "GPU:0". */
export function device(name: string): string {
  const local = /^(?:\/job:localhost\/replica:0\/task:0)?\/(?:device:)?(\w+:\d+)$/.exec(
    name
  );
  return local?.[1] ?? name;
}

function significant(value: number, digits: number): string {
  return Number(value.toPrecision(digits)).toLocaleString('en', {
    maximumFractionDigits: 3
  });
}
