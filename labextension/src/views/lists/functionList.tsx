import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { KernelState } from '../../feed/store';
import type { FunctionRecord } from '../../protocol';
import { trans } from '../../words';
import { OutlineDetails } from '../outlines/outlineView';
import { seen } from '../parts/texts';
import { useFilter } from '../parts/filter';
import { counts, duration, size } from '../parts/format';
import { Icon } from '../parts/icons';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';
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

/** A function, and its outline when it is opened. */
function FunctionRow({
  state,
  fn,
  note
}: {
  state: KernelState;
  fn: FunctionRecord;
  note: string;
}): VNode {
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
      {() => <OutlineDetails state={state} target={fn.id} />}
    </Section>
  );
}
