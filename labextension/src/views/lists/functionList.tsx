import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { tracesOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord, TraceRecord } from '../../protocol';
import { trans } from '../../words';
import { CellFact } from '../parts/cellReference';
import { Fact, seen } from '../parts/texts';
import { useFilter } from '../parts/filter';
import { counts, duration, integer, size } from '../parts/format';
import { Icon } from '../parts/icons';
import { LeftOut, Limited } from '../parts/limited';
import type { FunctionProps } from '../parts/presence';
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
  const filtered = useFilter(functions, fn => fn.name, trans.__('Filter functions'));
  const choices = useMemo(orders, []);
  const sorted = useSorting(filtered.items, choices, fn => counts.traces(fn.traces));
  if (functions.length === 0) {
    return (
      <p class="nbfn-Empty">
        {state.functions.size === 0
          ? trans.__('No function has been traced yet.')
          : trans.__('No other function has been traced yet.')}
      </p>
    );
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

const orders = (): readonly Order<FunctionRecord>[] => [
  { name: trans.__('calls'), value: fn => fn.calls, text: counts.calls },
  { name: trans.__('traces'), value: fn => fn.traces, text: counts.traces },
  { name: trans.__('retraces'), value: fn => fn.retraces, text: counts.retraces },
  {
    name: trans.__('time lost to tracing'),
    value: fn => fn.trace_seconds,
    text: duration
  },
  {
    name: trans.__('time spent running'),
    value: fn => fn.run_seconds,
    text: duration
  },
  { name: trans.__('size of the graphs'), value: fn => fn.nbytes, text: size }
];

const last = () => ({
  hit: trans.__('last call: hit'),
  trace: trans.__('last call: first trace'),
  retrace: trans.__('last call: retrace'),
  idle: trans.__('not called yet')
});

/** A function, and its traces when it is opened. */
export function FunctionRow({
  state,
  fn,
  note = counts.traces(fn.traces)
}: FunctionProps & { note?: string }): VNode {
  return (
    <Section
      class="nbfn-Row"
      title={
        <>
          <Icon name={fn.last ?? 'idle'} label={last()[fn.last ?? 'idle']} />
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

function FunctionSummary({ state, fn }: FunctionProps): VNode {
  useDetails({ state, fn });
  const traces = tracesOf(state, fn.id);
  return (
    <>
      <div class="nbfn-Facts">
        <Fact>{counts.calls(fn.calls)}</Fact>
        <Fact>{counts.hits(fn.hits)}</Fact>
        <Fact>{counts.retraces(fn.retraces)}</Fact>
        <Fact>{trans.__('%1 to trace', duration(fn.trace_seconds))}</Fact>
        <Fact title={trans.__('Size of its graphs')}>{size(fn.nbytes)}</Fact>
        <CellFact cell={fn.cell} />
      </div>
      <Limited items={traces} step={20}>
        {visible => (
          <ul class="nbfn-Traces" aria-label={trans.__('Traces')}>
            {visible.map(trace => (
              <TraceItem key={trace.id} trace={trace} />
            ))}
          </ul>
        )}
      </Limited>
      <LeftOut number={fn.traces - traces.length} of={counts.olderTraces} />
    </>
  );
}

function TraceItem({ trace }: { trace: TraceRecord }): VNode {
  return (
    <li class="nbfn-Trace" title={trace.cause.sentence}>
      <span
        class="nbfn-Trace-number"
        aria-label={trans.__('Trace %1', integer(trace.number))}
      >
        {integer(trace.number)}
      </span>{' '}
      <div class="nbfn-Trace-body">
        <Signature leaves={trace.signature} />
        <div class="nbfn-Facts">
          <Fact>{counts.hits(trace.hits)}</Fact>
          <Fact>{trans.__('%1 to trace', duration(trace.trace_seconds))}</Fact>
          <CellFact cell={trace.cell} />
        </div>
      </div>
    </li>
  );
}
