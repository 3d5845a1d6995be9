import type { VNode } from 'preact';
import { tracesOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord, TraceRecord } from '../../protocol';
import { CellReference } from '../parts/cellReference';
import { Fact, seen } from '../parts/texts';
import { useFilter } from '../parts/filter';
import { count, duration, integer, size } from '../parts/format';
import { Icon } from '../parts/icons';
import { Limited } from '../parts/limited';
import { useDetails } from '../parts/presence';
import { Section } from '../parts/section';
import { Signature } from '../parts/signature';
import type { Order } from './sorting';
import { useSorting } from './sorting';

/** Functions of a session, each with its traces. */
export function FunctionList({
  state,
  functions
}: {
  state: KernelState;
  functions: readonly FunctionRecord[];
}): VNode {
  const filtered = useFilter(functions, fn => fn.name, 'Filter functions');
  const sorted = useSorting(filtered.items, ORDERS, fn => count(fn.traces, 'trace'));
  if (functions.length === 0) {
    const other = state.functions.size === 0 ? '' : ' other';
    return <p class="nbfn-Empty">{`No${other} function has been traced yet.`}</p>;
  }
  return (
    <>
      {filtered.field}
      {sorted.field}
      <Limited items={sorted.items} step={50}>
        {visible =>
          visible.map(fn => (
            <FunctionRow key={fn.id} state={state} fn={fn} note={sorted.text(fn)} />
          ))
        }
      </Limited>
    </>
  );
}

const ORDERS: readonly Order<FunctionRecord>[] = [
  { name: 'calls', value: fn => fn.calls, text: fn => count(fn.calls, 'call') },
  { name: 'traces', value: fn => fn.traces, text: fn => count(fn.traces, 'trace') },
  {
    name: 'retraces',
    value: fn => fn.retraces,
    text: fn => count(fn.retraces, 'retrace')
  },
  {
    name: 'time lost to tracing',
    value: fn => fn.trace_seconds,
    text: fn => duration(fn.trace_seconds)
  },
  {
    name: 'time spent running',
    value: fn => fn.run_seconds,
    text: fn => duration(fn.run_seconds)
  },
  { name: 'size of the graphs', value: fn => fn.nbytes, text: fn => size(fn.nbytes) }
];

const LAST = {
  hit: 'last call: hit',
  trace: 'last call: first trace',
  retrace: 'last call: retrace',
  idle: 'not called yet'
};

/** A function, and its traces when it is opened. */
export function FunctionRow({
  state,
  fn,
  note = count(fn.traces, 'trace')
}: {
  state: KernelState;
  fn: FunctionRecord;
  note?: string;
}): VNode {
  return (
    <Section
      class="nbfn-Row"
      title={
        <>
          <Icon name={fn.last ?? 'idle'} label={LAST[fn.last ?? 'idle']} />
          <code class="nbfn-Row-name" title={fn.name + fn.parameters}>
            {seen(fn.name)}
            <span class="nbfn-Muted">{seen(fn.parameters)}</span>
          </code>
        </>
      }
      note={note}
    >
      {() => <FunctionSummary state={state} fn={fn} />}
    </Section>
  );
}

function FunctionSummary({
  state,
  fn
}: {
  state: KernelState;
  fn: FunctionRecord;
}): VNode {
  useDetails(state, fn);
  const traces = tracesOf(state, fn.id);
  const left = fn.traces - traces.length;
  return (
    <>
      <div class="nbfn-Facts">
        <Fact>{count(fn.calls, 'call')}</Fact>
        <Fact>{count(fn.hits, 'hit')}</Fact>
        <Fact>{count(fn.retraces, 'retrace')}</Fact>
        <Fact>{`${duration(fn.trace_seconds)} to trace`}</Fact>
        <Fact title="Size of its graphs">{size(fn.nbytes)}</Fact>
        {fn.cell && (
          <Fact>
            <CellReference cell={fn.cell} />
          </Fact>
        )}
      </div>
      <Limited items={traces} step={20}>
        {visible => (
          <ul class="nbfn-Traces" aria-label="Traces">
            {visible.map(trace => (
              <TraceItem key={trace.id} trace={trace} />
            ))}
          </ul>
        )}
      </Limited>
      {left > 0 && (
        <p class="nbfn-Muted">{`${count(left, 'older trace')} not listed.`}</p>
      )}
    </>
  );
}

function TraceItem({ trace }: { trace: TraceRecord }): VNode {
  return (
    <li class="nbfn-Trace" title={trace.cause.sentence}>
      <span class="nbfn-Trace-number" aria-label={`Trace ${trace.number}`}>
        {integer(trace.number)}
      </span>{' '}
      <div class="nbfn-Trace-body">
        <Signature leaves={trace.signature} />
        <div class="nbfn-Facts">
          <Fact>{count(trace.hits, 'hit')}</Fact>
          <Fact>{`${duration(trace.trace_seconds)} to trace`}</Fact>
          {trace.cell && (
            <Fact>
              <CellReference cell={trace.cell} />
            </Fact>
          )}
        </div>
      </div>
    </li>
  );
}
