import { describe, expect, it } from 'vitest';
import type { Block } from '../../src/pictures/timeline/blocks';
import { lanesOf } from '../../src/pictures/timeline/blocks';
import { marksOf } from '../../src/pictures/timeline/marks';
import {
  between,
  clock,
  panned,
  pixels,
  timeAxis,
  zoomed
} from '../../src/pictures/timeline/timeAxis';
import type { RunRecord, Rows } from '../../src/protocol';
import { REVEAL_CELL } from '../../src/views';
import { appears, asked, one, open, page as view, words } from '../page';
import { fn, retrace, retraced, snapshot, table, trace } from '../records';

function run(number: number, values: Partial<RunRecord> = {}): RunRecord {
  return {
    id: `run-${number}`,
    cell: { id: `cell-${number}`, execution_count: number },
    first: number,
    last: number,
    time: number * 10,
    end: number * 10 + 4,
    seconds: 4,
    tracing: 1,
    graph: 2,
    longest: 4,
    ...values
  };
}

function block(from: number, to: number): Block {
  const [name, text] = ['one', ''];
  return {
    ...{ from, to, seconds: to - from, count: 1, name, text },
    ...{ failed: false, running: false, cell: null }
  };
}

/** The session with the section of the timeline open, once its picture is there. */
async function drawn(state: Rows): Promise<HTMLElement> {
  const { element } = view(snapshot(state), { view: 'session' });
  const summary = [...element.querySelectorAll('summary')].find(each =>
    words(each).startsWith('Timeline')
  );
  await open(summary?.parentElement ?? element);
  await appears(element, '.nbfn-Picture > div > *');
  return element;
}

describe('a time of day', () => {
  it('is never a second too early', () => {
    expect(clock(5.996, 5)).toMatch(/:05\.99$/);
    expect(clock(5.9996, 0.01)).toMatch(/:06\.000$/);
    expect(clock(5.0401, 0.01)).toMatch(/:05\.040$/);
  });
});

describe('the axis of a timeline', () => {
  const busy = [
    { from: 0, to: 10 },
    { from: 1000, to: 1010 }
  ];

  it('shortens pauses, so that what ran is seen', () => {
    const axis = timeAxis(busy, true);
    const place = pixels(axis, axis.whole, 100);
    expect(axis.pauses).toEqual([{ from: 10, to: 1000 }]);
    expect(place(10)).toBeGreaterThan(40);
    expect(place(1000) - place(10)).toBeLessThan(10);
    const long = timeAxis(busy, false);
    expect(pixels(long, long.whole, 100)(10)).toBeLessThan(2);
  });

  it('zooms around a place, and goes no further than what there is', () => {
    const axis = timeAxis([{ from: 0, to: 100 }], true);
    expect(zoomed(axis, axis.whole, 2, 0.5)).toEqual({ from: 25, to: 75 });
    expect(zoomed(axis, axis.whole, 0.5)).toEqual(axis.whole);
    expect(panned(axis, { from: 0, to: 50 }, 2)).toEqual({ from: 50, to: 100 });
    expect(between(axis, 30, 10)).toEqual({ from: 10, to: 30 });
  });
});

describe('the marks of a timeline', () => {
  it('are one where blocks fall on the same pixels, and none where nobody sees them', () => {
    const blocks = [block(0, 0.1), block(0.2, 0.3), block(50, 60), block(500, 510)];
    const marks = marksOf(blocks, time => time, 100);
    expect(marks.map(mark => mark.blocks.length)).toEqual([2, 1]);
    expect(marks.map(mark => [mark.x, mark.width])).toEqual([
      [0, 2.2],
      [50, 10]
    ]);
  });

  it('stand in a lane for the cells, and one for each function with most time', () => {
    const functions = new Map(
      Array.from({ length: 9 }, (_, n) => [
        `f${n}`,
        fn({ id: `f${n}`, name: `f${n}`, trace_seconds: n })
      ])
    );
    const traces = new Map(
      [...functions.keys()].map(id => [
        `t-${id}`,
        trace({ id: `t-${id}`, function: id })
      ])
    );
    const lanes = lanesOf({ runs: new Map(), functions, traces, retraces: new Map() });
    expect(lanes.map(lane => lane.name)).toEqual([
      ...['Cells', 'f8', 'f7', 'f6', 'f5', 'f4', 'f3'],
      '3 other functions'
    ]);
    expect(lanes.at(-1)?.blocks).toHaveLength(3);
  });
});

describe('the picture of a timeline', () => {
  it('says what to do when nothing has run', async () => {
    const element = await drawn({});
    expect(words(one(element, '.nbfn-Picture'))).toContain('Run one: it appears here');
  });

  it('shows the causes that occur, where the time went, and the memory', async () => {
    const element = await drawn({
      ...retraced(),
      retraces: table(
        retrace({ causes: [{ code: 'dtype', sentence: 'dtype differs' }] })
      ),
      runs: table(run(1, { memory: 2e9 }), run(2, { memory: 3e9, failed: 1 }))
    });
    const legend = words(one(element, '.nbfn-Timeline-legend'));
    expect(legend).toContain('failed');
    expect(legend).toContain('another dtype 1 ×');
    const spending = words(one(element, '.nbfn-Timeline-spending'));
    expect(spending).toContain('Tracing 2 s 25 %');
    expect(spending).toContain('Graphs 4 s 50 %');
    expect(spending).toContain('8 s in 2 runs of cells.');
    expect(words(element)).toContain('Memory 3 GB');
    expect(one(element, '.nbfn-Timeline-memory path').getAttribute('d')).toMatch(
      /^M .* H .* V /
    );
  });

  it('is a table too, and leads to cells by keys', async () => {
    const element = await drawn({ runs: table(run(1), run(2)) });
    const plot = one(element, '.nbfn-Timeline-plot');
    const revealed = await asked(REVEAL_CELL, async () => {
      for (const key of ['ArrowRight', 'ArrowRight', 'Enter']) {
        plot.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        await new Promise(resolve => setTimeout(resolve, 30));
      }
    });
    expect(revealed).toEqual([{ cellId: 'cell-2' }]);
    await open(one(element, '.nbfn-Timeline-tables'));
    await appears(element, 'tbody tr:nth-child(2)');
    expect(words(one(element, 'tbody tr:first-child'))).toContain('In [2]');
  });

  it('has the memory of the process and of each device that counts', async () => {
    const gpu = '/job:localhost/replica:0/task:0/device:GPU:0';
    const runs = [
      run(1, { memory: 2e9, devices: { [gpu]: [1e9, 3e9] } }),
      run(2, { memory: 1e9, devices: { [gpu]: [5e8, 4e9] } })
    ];
    const element = await drawn({ runs: table(...runs) });
    const said = [...element.querySelectorAll('.nbfn-Timeline-memory')].map(each =>
      each.getAttribute('aria-label')
    );
    expect(said).toEqual([
      'Memory of the process after each run: 1 GB now, 2 GB at most',
      'Memory of GPU:0 after each run: 500 MB now, 4 GB at most'
    ]);
    const tables = one(element, '.nbfn-Timeline-tables');
    await open(tables);
    expect(words(one(tables, 'tbody tr:first-child'))).toContain('1 GB, GPU:0 500 MB');
  });
});
