import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { KernelState } from '../../feed/store';
import type { Cause, Cell, RetraceRecord } from '../../protocol';
import { trans } from '../../words';
import { CellFact, cellText } from '../parts/cellReference';
import { counts, duration, integer } from '../parts/format';
import { LeftOut, Limited } from '../parts/limited';
import { Section } from '../parts/section';
import { Sentence } from '../parts/texts';
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
  const kind = cause ? kindOf(cause) : trans.__('unknown');
  return (
    <Section
      class="nbfn-Row"
      title={
        <span class="nbfn-Row-name">
          <Sentence text={trans.__('in `%1`: %2', name, kind)} />
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

/** A reason in words, in which `backticks` enclose code. */
function kindOf({ code, path }: Cause): string {
  switch (code) {
    case 'variable_creation':
      return trans.__('it creates variables');
    case 'new_code':
      return trans.__('new code');
    case 'new_function':
      return trans.__('defined again');
    case 'new_instance':
      return trans.__('another instance');
    case 'evicted':
      return trans.__('evicted');
    case 'after_failure':
      return trans.__('after a failure');
    case 'shape':
      return path ? trans.__('shape of `%1`', path) : trans.__('shape');
    case 'rank':
      return path ? trans.__('rank of `%1`', path) : trans.__('rank');
    case 'dtype':
      return path ? trans.__('dtype of `%1`', path) : trans.__('dtype');
    case 'structure':
      return path ? trans.__('structure of `%1`', path) : trans.__('structure');
    case 'python_value':
      return path ? trans.__('value of `%1`', path) : trans.__('Python value');
    case 'python_type':
      return path ? trans.__('kind of `%1`', path) : trans.__('Python type');
    case 'object_identity':
      return path
        ? trans.__('another object for `%1`', path)
        : trans.__('another object');
    case 'stale':
      return path ? trans.__('`%1` has changed', path) : trans.__('stale');
    case 'device':
      return trans.__('another device');
    case 'strategy':
      return trans.__('another strategy');
    case 'summaries':
      return trans.__('another summary writer');
    case 'context':
      return trans.__('another context');
    case 'alias':
      return trans.__('the same tensor twice');
    case 'widened':
      return trans.__('widened');
    case 'xla_compile':
      return trans.__('compiled by XLA');
    default:
      return code.replaceAll('_', ' ');
  }
}
