import type { ComponentChildren, VNode } from 'preact';
import { Fragment } from 'preact';
import { CellReference } from '../../views/parts/cellReference';
import { counts, integer } from '../../views/parts/format';
import { Limited } from '../../views/parts/limited';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';
import type { End, Ends } from './model/carving';
import { has } from './model/carving';
import type { Operation, Operations } from './model/operations';
import type { Node } from './model/node';
import { part, Time, Values } from './seen';

/** Actions of the facts about a node. */
export interface FactActions {
  /** Goes to an operation. */
  onGo: (operation: Operation) => void;
  /** Marks the operations of a line. */
  onPlace: (place: number) => void;
  onToggle: (id: string) => void;
  onEnd: (side: 'input' | 'output', end: End) => void;
}

/** The facts about an operation. */
export function OperationFacts(props: {
  node: Node;
  operation: Operation;
  isOpen: boolean;
  ends: Ends | null;
  actions: FactActions;
}): VNode {
  const { node, operation, isOpen, ends, actions } = props;
  const graph = node.frame.graph;
  const { name, type, role, stands, device, results, place, changes, mark } = operation;
  const waits = operation.controls.flatMap(number => {
    const to = graph.of(operation.part)[number];
    return to ? [{ to, spec: to.type }] : [];
  });
  const sources = operation.inputs.flatMap(taken => {
    const source = graph.source(operation, taken);
    return source ? [{ to: source, spec: source.results[taken.result] ?? '' }] : [];
  });
  const takers = graph.takers(operation).map(to => ({ to, spec: to.type }));
  return (
    <>
      <p class="nbfn-Graph-heading">{seen(type)}</p>
      <p>
        <code>{seen(name)}</code>
      </p>
      {mark && mark !== 'changed' && (
        <p class={`nbfn-Graph-change nbfn-mod-${mark}`}>{sideOf(graph, mark)}</p>
      )}
      {changes.map(change => (
        <p key={change} class="nbfn-Graph-change nbfn-mod-changed">
          {seen(change)}
        </p>
      ))}
      <dl>
        {stands !== null && (
          <Fact name={role === 'capture' ? trans.__('captures') : trans.__('value')}>
            <code>{seen(stands)}</code>
          </Fact>
        )}
        {role === 'input' && node.frame.part === 0 && (
          <Fact name={trans.__('is')}>{trans.__('an argument')}</Fact>
        )}
        {role === 'output' && (
          <Fact name={trans.__('is')}>{trans.__('a result of the function')}</Fact>
        )}
        {place !== null && (
          <Fact name={trans.__('line')}>
            <CellReference cell={graph.place(operation)} />{' '}
            <button
              type="button"
              class="nbfn-mod-link"
              onClick={() => actions.onPlace(place)}
            >
              {trans.__('mark all of it')}
            </button>
          </Fact>
        )}
        {place !== null && graph.record.values?.[place] && (
          <Fact name={trans.__('seen')}>
            <Values texts={graph.record.values[place]} />
          </Fact>
        )}
        {graph.record.times && (
          <Fact name={trans.__('time')}>
            <Time operation={operation} whole={graph.record.times.seconds} />
          </Fact>
        )}
        {device && <Fact name={trans.__('device')}>{seen(device)}</Fact>}
        <Fact name={results.length > 1 ? 'results' : 'result'}>
          <Results operation={operation} ends={ends} actions={actions} />
        </Fact>
        {sources.length > 0 && (
          <Fact name={trans.__('takes')}>
            <Links items={sources} onGo={actions.onGo} />
          </Fact>
        )}
        {waits.length > 0 && (
          <Fact name={trans.__('after')}>
            <Links items={waits} onGo={actions.onGo} />
          </Fact>
        )}
        {takers.length > 0 && (
          <Fact name={trans.__('goes to')}>
            <Links items={takers} onGo={actions.onGo} />
          </Fact>
        )}
        {node.canOpen && (
          <Fact name={trans.__('calls')}>
            <Opener node={node} isOpen={isOpen} onToggle={actions.onToggle} />
          </Fact>
        )}
      </dl>
    </>
  );
}

/** The facts about a scope, a group, or a called function. */
export function BoxFacts(props: {
  node: Node;
  isOpen: boolean;
  actions: FactActions;
}): VNode {
  const { node, isOpen, actions } = props;
  return (
    <>
      <p class="nbfn-Graph-heading">{seen(node.label)}</p>
      <p>
        {counts.operations(node.operations.length)}{' '}
        <Opener node={node} isOpen={isOpen} onToggle={actions.onToggle} />
      </p>
      {node.frame.graph.record.times && (
        <p>{part(node.seconds, node.frame.graph.record.times.seconds)}</p>
      )}
      {[...node.marks].map(([mark, many]) => (
        <p key={mark} class={`nbfn-Graph-change nbfn-mod-${mark}`}>
          {`${integer(many)} ${mark}`}
        </p>
      ))}
      <Limited items={node.types} step={12}>
        {visible => (
          <dl>
            {visible.map(([type, many]) => (
              <Fact key={type} name={integer(many)}>
                {seen(type)}
              </Fact>
            ))}
          </dl>
        )}
      </Limited>
    </>
  );
}

/** A name and its value. */
export function Fact(props: { name: string; children: ComponentChildren }): VNode {
  return (
    <div class="nbfn-Graph-fact">
      <dt>{props.name}</dt> <dd>{props.children}</dd>
    </div>
  );
}

/** Names of operations as links to them. */
export function Links(props: {
  items: readonly { to: Operation; spec: string }[];
  onGo: (operation: Operation) => void;
}): VNode {
  return (
    <Limited items={props.items} step={6}>
      {visible => (
        <ul>
          {visible.map(({ to, spec }, index) => (
            <li key={index}>
              <button
                type="button"
                class="nbfn-mod-link"
                onClick={() => props.onGo(to)}
              >
                <Path
                  path={seen(to.role === 'capture' && to.stands ? to.stands : to.name)}
                />
              </button>{' '}
              <span class="nbfn-Muted">{seen(spec)}</span>
            </li>
          ))}
        </ul>
      )}
    </Limited>
  );
}

/** A path with possible line breaks after slashes. */
function Path({ path }: { path: string }): VNode {
  return (
    <>
      {path.split('/').map((part, index) => (
        <Fragment key={index}>
          {index > 0 && '/'}
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  );
}

/** Dtype and shape of each result, with buttons that make it an end for carving. */
function Results(props: {
  operation: Operation;
  ends: Ends | null;
  actions: FactActions;
}): VNode {
  const { operation, ends, actions } = props;
  const { results } = operation;
  const rows = results.length > 0 ? results : ['none'];
  return (
    <Limited items={rows} step={6}>
      {visible => (
        <ul>
          {visible.map((spec, result) => (
            <li key={result}>
              {seen(spec)}{' '}
              {ends &&
                (['input', 'output'] as const)
                  .filter(side => side === 'output' || results.length > 0)
                  .map(side => (
                    <button
                      key={side}
                      type="button"
                      class="nbfn-Button nbfn-Graph-end"
                      aria-pressed={has(ends[side], { operation, result })}
                      title={
                        side === 'input'
                          ? trans.__('Carve: make it an input')
                          : trans.__('Carve: make it an output')
                      }
                      onClick={() => actions.onEnd(side, { operation, result })}
                    >
                      {side}
                    </button>
                  ))}
            </li>
          ))}
        </ul>
      )}
    </Limited>
  );
}

function Opener(props: {
  node: Node;
  isOpen: boolean;
  onToggle: (id: string) => void;
}): VNode {
  const { node, isOpen, onToggle } = props;
  return (
    <button type="button" class="nbfn-mod-link" onClick={() => onToggle(node.id)}>
      {isOpen ? trans.__('close') : trans.__('open')}
    </button>
  );
}

function sideOf({ record }: Operations, mark: 'removed' | 'added'): string {
  const side = record.sides?.[mark === 'removed' ? 0 : 1] ?? '';
  return mark === 'removed'
    ? trans.__('removed: only in %1', side)
    : trans.__('added: only in %1', side);
}
