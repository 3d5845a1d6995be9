import { describe, expect, it } from 'vitest';
import { counts, device, duration, integer, size } from '../../src/views/parts/format';

describe('format', () => {
  it.each([
    [0, '0 ms'],
    [Number.NaN, '0 ms'],
    [0.0000123, '12 µs'],
    [0.0000999, '0.1 ms'],
    [0.00042, '0.42 ms'],
    [0.0123, '12 ms'],
    [0.0996, '99.6 ms'],
    [0.312, '312 ms'],
    [0.9994, '999 ms'],
    [0.9996, '1 s'],
    [2.414, '2.41 s'],
    [59.96, '1 min 0 s'],
    [185, '3 min 5 s'],
    [7200, '2 h 0 min']
  ])('writes %d seconds as %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1 kB'],
    [1536, '1.5 kB'],
    [20480, '20.5 kB'],
    [999_600, '1 MB'],
    [401_408, '401 kB'],
    [12_345_678, '12.3 MB'],
    [3e15, '3,000 TB']
  ])('writes %d bytes as %s', (bytes, text) => {
    expect(size(bytes)).toBe(text);
  });

  it('counts with the noun', () => {
    expect(counts.traces(1)).toBe('1 trace');
    expect(counts.traces(1200)).toBe('1,200 traces');
    expect(counts.calls(0)).toBe('0 calls');
    expect(integer(12345.0)).toBe('12,345');
  });

  it('shortens local devices only', () => {
    expect(device('/job:localhost/replica:0/task:0/device:GPU:1')).toBe('GPU:1');
    expect(device('/device:CPU:0')).toBe('CPU:0');
    const remote = '/job:worker/replica:0/task:1/device:CPU:0';
    expect(device(remote)).toBe(remote);
  });
});
