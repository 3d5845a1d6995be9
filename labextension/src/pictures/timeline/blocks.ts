import type { CauseRecord, CodePlace, RunRecord } from '../../protocol';
import type { FunctionRecord, RetraceRecord, TraceRecord } from '../../protocol';
import { addTo } from '../../feed/lookup';
import { cellText } from '../../views/parts/cellReference';
import { counts, duration } from '../../views/parts/format';
import { trans } from '../../words';
import type { Parts } from '../spending/runs';
import { endingOf, partsOf, runName, sum } from '../spending/runs';
import type { CauseCode } from './causes';
import type { Span } from './timeAxis';

/** The tables of a kernel's state from which a timeline is drawn. */
export interface TimelineData {
  runs: ReadonlyMap<string, RunRecord>;
  functions: ReadonlyMap<string, FunctionRecord>;
  traces: ReadonlyMap<string, TraceRecord>;
  retraces: ReadonlyMap<string, RetraceRecord>;
}

/** Something that took time: runs of cells, or traces. */
export interface Block extends Span {
  /** Seconds of work, without the pauses within. */
  readonly seconds: number;
  /** The number of runs or traces in it. */
  readonly count: number;
  /** For runs of cells, how their seconds were spent. */
  readonly parts?: Parts;
  /** Why a trace was made, if it was a retrace. */
  readonly cause?: CauseCode;
  readonly failed: boolean;
  readonly running: boolean;
  /** Its name, such as In [3]. */
  readonly name: string;
  /** Further facts about it. */
  readonly text: string;
  readonly cell: CodePlace | null;
}

/** Blocks of one sort, one below the other by time. */
export interface Lane {
  readonly id: string;
  readonly name: string;
  readonly isCode: boolean;
  readonly note: string;
  readonly blocks: readonly Block[];
}

/** Maximum number of functions with a separate lane. */
const OWN_LANES = 6;

/** The lanes of a timeline: the cells, the functions with most time first, and all others. */
export function lanesOf(data: TimelineData): Lane[] {
  const runs = [...data.runs.values()].map(runBlock);
  const traces = traceBlocks(data);
  const functions = [...data.functions.values()]
    .filter(fn => traces.has(fn.id))
    .sort((a, b) => spent(b) - spent(a));
  const own = functions.slice(0, OWN_LANES);
  const others = functions.slice(OWN_LANES);
  const lanes: Lane[] = [
    {
      id: 'cells',
      name: trans.__('Cells'),
      isCode: false,
      note: counts.runs(sum([...data.runs.values()], run => run.runs ?? 1)),
      blocks: runs
    },
    ...own.map(fn => ({
      id: fn.id,
      name: fn.name,
      isCode: true,
      note: trans.__('%1 to trace', duration(fn.trace_seconds)),
      blocks: traces.get(fn.id) ?? []
    }))
  ];
  if (others.length > 0) {
    lanes.push({
      id: 'others',
      name: counts.otherFunctions(others.length),
      isCode: false,
      note: trans.__('%1 to trace', duration(sum(others, fn => fn.trace_seconds))),
      blocks: others
        .flatMap(fn => traces.get(fn.id) ?? [])
        .sort((a, b) => a.from - b.from)
    });
  }
  return lanes;
}

/** The number of traces that the tables leave out. */
export function leftOut({ functions, traces }: TimelineData): number {
  const all = sum([...functions.values()], fn => fn.traces);
  return Math.max(all - traces.size, 0);
}

function spent(fn: FunctionRecord): number {
  return fn.trace_seconds + fn.run_seconds;
}

function runBlock(run: RunRecord): Block {
  const { tracing, graph, python } = partsOf(run);
  const parts = [
    [tracing, trans.__('tracing')],
    [graph, trans.__('graphs')],
    [python, trans.__('Python')]
  ] as const;
  const facts = [
    (run.runs ?? 1) > 1
      ? trans.__('%1 in %2', counts.runs(run.runs ?? 1), duration(run.seconds))
      : duration(run.seconds),
    parts
      .filter(([seconds]) => seconds >= run.seconds / 1000)
      .map(([seconds, what]) => `${duration(seconds)} ${what}`)
      .join(', '),
    [
      run.calls ? counts.calls(run.calls) : '',
      run.traces ? counts.traces(run.traces) : ''
    ]
      .filter(Boolean)
      .join(', '),
    run.segments ?? '',
    run.elsewhere && run.elsewhere >= run.seconds / 100
      ? trans.__('%1 of calls on other threads', duration(run.elsewhere))
      : '',
    run.watched ? counts.copies(run.copies ?? 0) : '',
    endingOf(run)
  ];
  return {
    from: run.time,
    to: run.end,
    seconds: run.seconds,
    count: run.runs ?? 1,
    parts: { tracing, graph, python },
    failed: (run.failed ?? 0) + (run.interrupted ?? 0) > 0,
    running: run.running ?? false,
    name: runName(run),
    text: facts.filter(Boolean).join(' · '),
    cell: run.cell
  };
}

/** The traces of each function, oldest first; those that were retraces with their cause. */
function traceBlocks({
  traces,
  retraces,
  functions
}: TimelineData): Map<string, Block[]> {
  const found = new Map<string, Block[]>();
  const seen = new Set<string>();
  for (const retrace of retraces.values()) {
    const { causes, trace, function: id } = retrace;
    const [cause] = causes;
    if (!functions.has(id)) {
      continue;
    }
    // Of a recompilation by XLA, the trace was made before, and has a separate block.
    if (cause?.code !== 'xla_compile') {
      seen.add(trace);
    }
    const { number } = traces.get(trace) ?? {};
    addTo(found, id, traceBlock(retrace, number, cause, cause?.code ?? 'unknown'));
  }
  for (const trace of traces.values()) {
    if (!seen.has(trace.id) && functions.has(trace.function)) {
      addTo(found, trace.function, traceBlock(trace, trace.number, trace.cause));
    }
  }
  for (const blocks of found.values()) {
    blocks.sort((a, b) => a.from - b.from);
  }
  return found;
}

function traceBlock(
  row: TraceRecord | RetraceRecord,
  number: number | undefined,
  cause: CauseRecord | undefined,
  code?: CauseCode
): Block {
  const { cell = null, time, trace_seconds } = row;
  const place = cell ? cellText(cell) : '';
  const why = cause ? changeOf(cause) : '';
  return {
    from: time - trace_seconds,
    to: time,
    seconds: trace_seconds,
    count: 1,
    ...(code ? { cause: code } : {}),
    failed: false,
    running: false,
    name: number ? trans.__('trace %1', number) : trans.__('trace'),
    text: [duration(trace_seconds), why, place].filter(Boolean).join(' · '),
    cell
  };
}

function changeOf({ path, old, new: now, sentence }: CauseRecord): string {
  return path && old && now ? `${path}: ${old} → ${now}` : sentence.replaceAll('`', '');
}
