import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { KernelState } from '../../feed/store';
import type { Cause, Cell, RetraceRecord } from '../../protocol';
import { CellReference, cellText } from '../parts/cellReference';
import { count, duration, integer } from '../parts/format';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';
import { Fact, seen } from '../parts/texts';
import { RetraceCauses } from './retraceList';

/** Retraces of one function for one reason. */
interface Group {
  id: string;
  /** The newest of them. */
  last: RetraceRecord;
  cause: Cause | undefined;
  number: number;
  seconds: number;
  places: Cell[];
}

/** The retraces of the session by their cause, the most expensive first. */
export function RetraceGroups({ state }: { state: KernelState }): VNode {
  const groups = useMemo(() => grouped(state.retraces), [state.retraces]);
  const left = (state.totals.retraces ?? 0) - state.retraces.size;
  return (
    <>
      <Limited items={groups} step={20}>
        {visible =>
          visible.map(group => (
            <GroupRow
              key={group.id}
              group={group}
              name={state.functions.get(group.last.function)?.name ?? ''}
            />
          ))
        }
      </Limited>
      {left > 0 && (
        <p class="nbfn-Muted">{`${count(left, 'older retrace')} not listed.`}</p>
      )}
    </>
  );
}

function GroupRow({ group, name }: { group: Group; name: string }): VNode {
  const { cause, last, number, places, seconds } = group;
  return (
    <Section
      class="nbfn-Row"
      title={
        <span class="nbfn-Row-name">
          {cause ? kindOf(cause) : 'unknown'}
          {cause?.path && (
            <>
              {' of '}
              <code>{seen(cause.path)}</code>
            </>
          )}{' '}
          <code class="nbfn-Muted">{seen(name)}</code>
        </span>
      }
      note={`${integer(number)} × · ${duration(seconds)}`}
    >
      {() => (
        <div class="nbfn-Retrace">
          <div class="nbfn-Facts">
            {places.map(place => (
              <Fact key={cellText(place)}>
                <CellReference cell={place} />
              </Fact>
            ))}
          </div>
          <RetraceCauses retrace={last} />
          {!last.settled && last.remedy && (
            <p class="nbfn-Muted">
              {`It would have saved ${duration(seconds)} of tracing.`}
            </p>
          )}
        </div>
      )}
    </Section>
  );
}

/** So many places of a group are named. */
const MAX_PLACES = 5;

function grouped(retraces: ReadonlyMap<string, RetraceRecord>): Group[] {
  const groups = new Map<string, Group>();
  for (const retrace of retraces.values()) {
    const [cause] = retrace.causes;
    const id = [retrace.function, cause?.code, cause?.path].join('|');
    const group = groups.get(id) ?? {
      id,
      last: retrace,
      cause,
      number: 0,
      seconds: 0,
      places: []
    };
    groups.set(id, group);
    group.number += 1;
    group.seconds += retrace.trace_seconds;
    if (retrace.time >= group.last.time) {
      group.last = retrace;
    }
    const { cell } = retrace;
    if (
      cell &&
      group.places.length < MAX_PLACES &&
      !group.places.some(place => cellText(place) === cellText(cell))
    ) {
      group.places.push(cell);
    }
  }
  return [...groups.values()].sort((a, b) => b.seconds - a.seconds);
}

const KINDS: Partial<Record<Cause['code'], string>> = {
  variable_creation: 'creates variables',
  new_code: 'new code',
  new_function: 'defined again',
  new_instance: 'another instance',
  evicted: 'evicted',
  after_failure: 'after a failure',
  shape: 'shape',
  rank: 'rank',
  dtype: 'dtype',
  structure: 'structure',
  python_value: 'Python value',
  python_type: 'Python type',
  object_identity: 'another object',
  stale: 'stale',
  device: 'device',
  strategy: 'strategy',
  summaries: 'summaries',
  context: 'context',
  alias: 'the same tensor twice',
  widened: 'widened',
  xla_compile: 'XLA compiles'
};

function kindOf({ code }: Cause): string {
  return KINDS[code] ?? code.replaceAll('_', ' ');
}
