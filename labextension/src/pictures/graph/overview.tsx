import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { counted } from '../../feed/lookup';
import { CellReference } from '../../views/parts/cellReference';
import { counts, duration, integer } from '../../views/parts/format';
import { Limited } from '../../views/parts/limited';
import { trans } from '../../words';
import type { FactActions } from './facts';
import { Fact, Links } from './facts';
import type { Operation, Operations } from './model/operations';
import { part } from './seen';

/** Maximum number of slowest operations listed. */
const SLOWEST = 30;

/** The facts about a graph, shown while nothing is selected. */
export function Overview(props: {
  graph: Operations;
  place: number | null;
  actions: FactActions;
}): VNode {
  const { graph, place, actions } = props;
  const { record, all } = graph;
  const lines = useMemo(() => linesOf(graph), [graph]);
  const whole = graph.of(0);
  const slowest = useMemo(
    () =>
      all
        .flatMap(to => (to.time && to.time.seconds > 0 ? [{ to, time: to.time }] : []))
        .sort((one, other) => other.time.seconds - one.time.seconds)
        .slice(0, SLOWEST)
        .map(({ to, time }) => ({ to, spec: duration(time.seconds) })),
    [all]
  );
  const called = all.length - whole.length;
  const left = record.total - all.length;
  const links = (role: Operation['role']): { to: Operation; spec: string }[] =>
    whole
      .filter(each => each.role === role)
      .map(to => ({ to, spec: role === 'capture' ? '' : to.results.join(', ') }));
  const ends = [
    ['arguments', links('input')],
    ['captures', links('capture')],
    ['results', links('output')]
  ] as const;
  return (
    <>
      <p class="nbfn-Graph-heading">{counts.operations(record.total - called)}</p>
      {called > 0 && (
        <p class="nbfn-Muted">{`and ${integer(called)} in functions that it calls`}</p>
      )}
      {left > 0 && (
        <p class="nbfn-Graph-change nbfn-mod-changed">
          {trans.__(
            'The first %1 are kept in the notebook and drawn; %2 are left out.',
            integer(all.length),
            integer(left)
          )}
        </p>
      )}
      <p class="nbfn-Muted">
        {trans.__('Choose an operation to see what it takes and gives, and its line.')}
      </p>
      {record.times && (
        <p>
          {trans.__(
            'What ran took %1 together: more than the call, where several ran at a time.',
            duration(record.times.seconds)
          )}
          {record.times.others > 0 &&
            ` ${trans.__('Of that %1 in operations that the optimiser made, whose place is not known.', part(record.times.others, record.times.seconds))}`}
        </p>
      )}
      <dl>
        {slowest.length > 0 && (
          <Fact name={trans.__('slowest')}>
            <Links items={slowest} onGo={actions.onGo} />
          </Fact>
        )}
        {ends
          .filter(([, items]) => items.length > 0)
          .map(([name, items]) => (
            <Fact key={name} name={name}>
              <Links items={items} onGo={actions.onGo} />
            </Fact>
          ))}
        {lines.length > 0 && (
          <Fact name="lines">
            <Limited items={lines} step={8}>
              {visible => (
                <ul>
                  {visible.map(([number, many]) => (
                    <li key={number}>
                      <CellReference cell={record.places[number]} />{' '}
                      <button
                        type="button"
                        class="nbfn-mod-link"
                        aria-pressed={number === place}
                        onClick={() => actions.onPlace(number)}
                      >
                        {trans.__('mark %1', integer(many))}
                      </button>
                    </li>
                  ))}
                </ul>
              )}
            </Limited>
          </Fact>
        )}
      </dl>
    </>
  );
}

/** The user lines in order, with the number of operations that each made. */
function linesOf({ record, all }: Operations): (readonly [number, number])[] {
  const places = all.flatMap(({ place }) => (place === null ? [] : [place]));
  const order = (place: number): [string, number] => {
    const cell = record.places[place];
    const text = cell?.file ?? String(cell?.execution_count ?? '').padStart(9, '0');
    return [text, cell?.line ?? 0];
  };
  return [...counted(places)].sort(([one], [other]) => {
    const [[file, line], [otherFile, otherLine]] = [order(one), order(other)];
    return file === otherFile ? line - otherLine : file < otherFile ? -1 : 1;
  });
}
