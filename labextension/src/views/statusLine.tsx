import type { ComponentChildren, VNode } from 'preact';
import { retracesOf, tracesOf } from '../feed/lookup';
import type { KernelState } from '../feed/store';
import type { Cause, FunctionRecord, RetraceRecord, TraceRecord } from '../protocol';
import { trans } from '../words';
import { CauseText } from './parts/causeText';
import { Fact, seen, Spoken } from './parts/texts';
import { counts, duration, integer } from './parts/format';
import { Icon } from './parts/icons';
import type { FunctionProps } from './parts/presence';
import { RemedyButton } from './parts/remedyButton';

/** What the last call of a function was, with what there is to say about it. */
type Status =
  | { kind: 'idle' }
  | { kind: 'hit'; trace: TraceRecord | null }
  | { kind: 'trace'; trace: TraceRecord | null }
  | { kind: 'retrace'; retrace: RetraceRecord | null; trace: TraceRecord | null };

/** What the last call of a function was. */
function statusOf(state: KernelState, fn: FunctionRecord): Status {
  const trace =
    (fn.last_trace ? state.traces.get(fn.last_trace) : undefined) ??
    tracesOf(state, fn.id).at(-1) ??
    null;
  switch (fn.last) {
    case 'hit':
    case 'trace':
      return { kind: fn.last, trace };
    case 'retrace': {
      const known = fn.last_retrace ? state.retraces.get(fn.last_retrace) : undefined;
      const retrace = known ?? retracesOf(state, fn.id).at(-1) ?? null;
      return { kind: 'retrace', retrace, trace };
    }
    default:
      return { kind: 'idle' };
  }
}

/** The cause that a first trace should tell: none if it is only that it was the first. */
function notableCause(trace: TraceRecord | null): Cause | null {
  return trace && trace.cause.code !== 'first_trace' ? trace.cause : null;
}

const words = (): Record<Status['kind'], string> => ({
  hit: trans.__('Hit'),
  trace: trans.__('Traced'),
  retrace: trans.__('Retraced'),
  idle: trans.__('Not called yet')
});

/** One line that says what the last call was: a hit, the first trace, or a retrace and why. */
export function StatusLine({ state, fn }: FunctionProps): VNode {
  const status = statusOf(state, fn);
  const retrace = openRetrace(state, fn);
  const before = status.kind === 'retrace' ? null : retrace?.causes[0];
  return (
    <div class={`nbfn-StatusLine nbfn-mod-${status.kind}`}>
      <Spoken text={spoken(status, fn)} />
      <StatusText kind={status.kind} name={fn.name}>
        {isFirst(status) || status.kind === 'idle' ? ' ' : ': '}
        {story(status, fn)}
      </StatusText>
      {before && (
        <p class="nbfn-Muted">
          <Fact>{trans.__('retraced before')}</Fact>
          <CauseText cause={before} />
        </p>
      )}
      {retrace?.remedy && <RemedyButton remedy={retrace.remedy} cellId={fn.cell?.id} />}
    </div>
  );
}

/** The text of such a line: what happened, to which function, and the facts about it. */
export function StatusText({
  kind,
  name,
  children
}: {
  kind: Status['kind'];
  name: string | undefined;
  children: ComponentChildren;
}): VNode {
  return (
    <p class="nbfn-StatusLine-text">
      <Icon name={kind} />
      <strong class="nbfn-StatusLine-word">{words()[kind]}</strong>{' '}
      <code>{seen(name ?? '')}</code>
      {children}
    </p>
  );
}

/** What screen readers say when it changes: a retrace and its cause, not the count of each call. */
function spoken(status: Status, { name }: FunctionRecord): string {
  return status.kind === 'retrace'
    ? trans.__('Retraced %1: %2', name, status.retrace?.causes[0]?.sentence ?? '')
    : '';
}

/** The newest retrace of a function, as long as there is something to do about it. */
function openRetrace(state: KernelState, fn: FunctionRecord): RetraceRecord | null {
  const retrace = fn.last_retrace ? state.retraces.get(fn.last_retrace) : null;
  return retrace && !retrace.settled && retrace.remedy ? retrace : null;
}

function story(status: Status, fn: FunctionRecord): ComponentChildren {
  switch (status.kind) {
    case 'idle':
      return null;
    case 'hit':
      return (
        <>
          {status.trace && fn.traces > 1 && (
            <Fact>
              {trans.__(
                'trace %1 of %2',
                integer(status.trace.number),
                integer(fn.traces)
              )}
            </Fact>
          )}
          <Fact>
            {trans.__('%1 of %2 hit', integer(fn.hits), counts.calls(fn.calls))}
          </Fact>
        </>
      );
    case 'trace': {
      const { trace } = status;
      const cause = notableCause(trace);
      return (
        <>
          <Fact>
            {cause ? <CauseText cause={cause} /> : trans.__('for the first time')}
          </Fact>
          {trace && (
            <Fact>{trans.__('%1 to trace', duration(trace.trace_seconds))}</Fact>
          )}
          {trace && <Fact>{counts.operations(trace.operations)}</Fact>}
        </>
      );
    }
    case 'retrace': {
      const causes = status.retrace?.causes ?? [];
      const [first] = causes;
      const seconds = status.retrace?.trace_seconds ?? status.trace?.trace_seconds;
      return (
        <>
          {first && (
            <Fact>
              <CauseText cause={first} />
              {causes.length > 1 && (
                <span class="nbfn-Muted">
                  {' '}
                  {trans.__('and %1', counts.moreCauses(causes.length - 1))}
                </span>
              )}
            </Fact>
          )}
          {seconds != null && <Fact>{trans.__('%1 to trace', duration(seconds))}</Fact>}
        </>
      );
    }
  }
}

/** Whether "for the first time" is all that there is to say of why it traced. */
function isFirst(status: Status): boolean {
  return status.kind === 'trace' && !notableCause(status.trace);
}
