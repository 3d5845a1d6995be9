import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { KernelState } from '../../feed/store';
import type { Cause, Cell, RetraceRecord } from '../../protocol';
import { trans } from '../../words';
import { CellFact, cellText } from '../parts/cellReference';
import { counts, duration, integer } from '../parts/format';
import { LeftOut, Limited } from '../parts/limited';
import { Section } from '../parts/section';
import { seen } from '../parts/texts';
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
      <LeftOut number={left} of={counts.olderRetraces} />
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
          {cause ? kindOf(cause) : trans.__('unknown')}
          {cause?.path && (
            <>
              {' '}
              {trans.__('of')} <code>{seen(cause.path)}</code>
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
              <CellFact key={cellText(place)} cell={place} />
            ))}
          </div>
          <RetraceCauses retrace={last} />
          {!last.settled && last.remedy && (
            <p class="nbfn-Muted">
              {trans.__('It would have saved %1 of tracing.', duration(seconds))}
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

const kinds = (): Partial<Record<Cause['code'], string>> => ({
  variable_creation: trans.__('creates variables'),
  new_code: trans.__('new code'),
  new_function: trans.__('defined again'),
  new_instance: trans.__('another instance'),
  evicted: trans.__('evicted'),
  after_failure: trans.__('after a failure'),
  shape: trans.__('shape'),
  rank: trans.__('rank'),
  dtype: trans.__('dtype'),
  structure: trans.__('structure'),
  python_value: trans.__('Python value'),
  python_type: trans.__('Python type'),
  object_identity: trans.__('another object'),
  stale: trans.__('stale'),
  device: trans.__('device'),
  strategy: trans.__('strategy'),
  summaries: trans.__('summaries'),
  context: trans.__('context'),
  alias: trans.__('the same tensor twice'),
  widened: trans.__('widened'),
  xla_compile: trans.__('XLA compiles')
});

function kindOf({ code }: Cause): string {
  return kinds()[code] ?? code.replaceAll('_', ' ');
}
