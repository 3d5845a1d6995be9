import type { VNode } from 'preact';
import { tracesOf } from '../../feed/lookup';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord, TraceRecord } from '../../protocol';
import { CellReference } from '../parts/cellReference';
import { Fact } from '../parts/texts';
import { useFilter } from '../parts/filter';
import { count, duration, integer } from '../parts/format';
import { Icon } from '../parts/icons';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';
import { Signature } from '../parts/signature';

/** Functions of a session, each with its traces. */
export function FunctionList({
  state,
  functions
}: {
  state: KernelState;
  functions: readonly FunctionRecord[];
}): VNode {
  const { items, field } = useFilter(functions, fn => fn.name, 'Filter functions');
  if (functions.length === 0) {
    const other = state.functions.size === 0 ? '' : ' other';
    return <p class="nbfn-Empty">{`No${other} function has been traced yet.`}</p>;
  }
  return (
    <>
      {field}
      <Limited items={items} step={50}>
        {visible =>
          visible.map(fn => <FunctionRow key={fn.id} state={state} fn={fn} />)
        }
      </Limited>
    </>
  );
}

/** A function, and its traces when it is opened. */
export function FunctionRow({
  state,
  fn
}: {
  state: KernelState;
  fn: FunctionRecord;
}): VNode {
  return (
    <Section
      class="nbfn-Row"
      title={
        <>
          <Icon name={fn.last ?? 'idle'} />
          <code class="nbfn-Row-name" title={fn.name + fn.parameters}>
            {fn.name}
            <span class="nbfn-Muted">{fn.parameters}</span>
          </code>
        </>
      }
      note={count(fn.traces, 'trace')}
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
  return (
    <>
      <div class="nbfn-Facts">
        <Fact>{count(fn.calls, 'call')}</Fact>
        <Fact>{count(fn.hits, 'hit')}</Fact>
        <Fact>{count(fn.retraces, 'retrace')}</Fact>
        {fn.cell && (
          <Fact>
            <CellReference cell={fn.cell} />
          </Fact>
        )}
      </div>
      <Limited items={tracesOf(state, fn.id)} step={20}>
        {visible => (
          <ul class="nbfn-Traces" aria-label="Traces">
            {visible.map(trace => (
              <TraceItem key={trace.id} trace={trace} />
            ))}
          </ul>
        )}
      </Limited>
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
