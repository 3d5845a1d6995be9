import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useCallback, useMemo, useRef, useState } from 'preact/hooks';
import type { GraphRecord } from '../../protocol';
import { counts } from '../../views/parts/format';
import { seen, Spoken } from '../../views/parts/texts';
import { trans } from '../../words';
import { change } from './canvas/panZoom';
import type { Move } from './canvas/steadyView';
import { LOW } from './canvas/steadyView';
import { download, standalone } from './canvas/svgFile';
import { zoomed } from './canvas/view';
import { CarveBar } from './carveBar';
import type { FactActions } from './facts';
import { fileName, Footer } from './footer';
import type { Ends } from './model/carving';
import { toggled } from './model/carving';
import type { ColourBy } from './model/colours';
import { choices, legendOf } from './model/colours';
import type { Wanted } from './model/finding';
import { found } from './model/finding';
import type { Picture } from './model/layout';
import { ARROWS, neighbour } from './model/moves';
import type { Operation } from './model/operations';
import type { Node } from './model/node';
import type { Panes } from './pane';
import { Pane } from './pane';
import {
  carvedOf,
  described,
  differenceIn,
  drawn,
  foundIn,
  opened,
  openedFirst,
  placeOf,
  planeOf
} from './planes';
import { SidePanel } from './sidePanel';
import { TextTree } from './textTree';
import { Toolbar } from './toolbar';

/** The data of a graph's picture. */
export interface GraphPictureProps {
  graph: GraphRecord;
  /** Whether the graph's kernel runs, so that code can be inserted into cells. */
  isLive: boolean;
}

const NOTHING: Ends = { input: [], output: [] };

/** Maximum number of operations with control inputs whose lines are drawn by default. */
const FEW = 8;

const keys = new WeakMap<GraphRecord, number>();
let lastKey = 0;

/** The picture of a graph, or a hint if the graph is empty. */
export function GraphPicture({ graph, isLive }: GraphPictureProps): VNode {
  if ((graph.parts[0]?.names ?? []).length === 0) {
    return (
      <p class="nbfn-Empty">
        {trans.__(
          'This graph is empty: the function computed nothing with tensors. Pass tensors as arguments, compute with them in the function, and call it again.'
        )}
      </p>
    );
  }
  if (!keys.has(graph)) {
    keys.set(graph, (lastKey += 1));
  }
  // The state of open and selected nodes belongs to one graph.
  return <Drawn key={keys.get(graph)} graph={graph} isLive={isLive} />;
}

function Drawn({ graph: record, isLive }: GraphPictureProps): VNode {
  const both = useMemo(() => planeOf(record, 'both'), [record]);
  const { graph } = both;
  const [isBeside, setBeside] = useState(false);
  const planes = useMemo(
    () =>
      isBeside
        ? (['first', 'second'] as const).map(side => planeOf(record, side))
        : [both],
    [record, both, isBeside]
  );
  const [open, setOpen] = useState<ReadonlySet<string>>(() => openedFirst(both));
  const [selected, setSelected] = useState<Node | null>(null);
  const [text, setText] = useState('');
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const [at, setAt] = useState(0);
  const [colourBy, setColourBy] = useState<ColourBy>(choices(graph)[0] ?? 'type');
  const [hasLabels, setHasLabels] = useState(true);
  const [hasControls, setHasControls] = useState(graph.controlled <= FEW);
  const [ends, setEnds] = useState(NOTHING);
  const [spoken, speak] = useState('');
  const [height, setHeight] = useState(LOW);
  const element = useRef<HTMLDivElement>(null);
  const panes = useMemo<Panes>(() => ({ linked: new Set(), moves: new Set() }), []);
  const hasTimes = colourBy === 'time';
  const pictures = useMemo(() => {
    const shown = { labels: hasLabels, controls: hasControls, times: hasTimes };
    return planes.map(({ layout }) => layout.draw(open, shown));
  }, [planes, open, hasLabels, hasControls, hasTimes]);
  const legend = useMemo(() => legendOf(graph, colourBy), [graph, colourBy]);
  const hits = useMemo(() => (wanted ? foundIn(planes, wanted) : []), [planes, wanted]);
  const marked = useMemo(
    () => new Set(wanted ? planes.flatMap(each => found(each.graph, wanted)) : []),
    [planes, wanted]
  );
  const carved = useMemo(() => carvedOf(ends), [ends]);
  const onHeight = useCallback(
    (needed: number) => setHeight(now => Math.max(now, needed)),
    []
  );

  const move = (next: Move): void => panes.moves.forEach(each => each(next));
  const select = (node: Node | null): void => {
    setSelected(node);
    speak(node ? described(node, open) : '');
  };
  const toggle = (id: string): void => {
    const nodes = drawn(pictures, id);
    const [first] = nodes;
    if (first?.canOpen) {
      move({ to: 'same', ids: [id] });
      setOpen(opened(open, nodes));
      select(selected?.id === id ? selected : first);
    }
  };
  const go = (node: Node | null): void => {
    if (node) {
      const around = node.ancestors.map(({ id }) => id);
      setOpen(new Set([...open, ...around]));
      select(node);
      move({ to: 'middle', ids: [node.id, ...around] });
    }
  };
  const goTo = (operation: Operation | undefined): void =>
    go(operation ? placeOf(planes, operation, selected) : null);
  const find = (next: Wanted | null): void => {
    setWanted(next);
    setAt(0);
    goTo(next ? foundIn(planes, next)[0] : undefined);
  };
  const step = (by: number): void => {
    if (hits.length > 0) {
      const next = (at + by + hits.length) % hits.length;
      setAt(next);
      goTo(hits[next]);
    }
  };
  const zoom = (factor: number): void =>
    change(panes.linked, (view, { width, height: high }) =>
      zoomed(view, factor, { x: width / 2, y: high / 2 })
    );
  const fit = (): void => move({ to: 'all' });
  const onKey = (
    event: TargetedKeyboardEvent<SVGSVGElement>,
    picture: Picture
  ): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const direction = ARROWS[event.key];
    const acts: Record<string, () => void> = {
      Enter: () => selected && toggle(selected.id),
      Escape: () => {
        setText('');
        setWanted(null);
        select(null);
      },
      '+': () => zoom(1.3),
      '-': () => zoom(1 / 1.3),
      '0': fit
    };
    const act = direction
      ? () => go(neighbour(picture, selected?.id ?? null, direction)?.node ?? null)
      : acts[event.key];
    if (act) {
      event.preventDefault();
      event.stopPropagation();
      act();
    }
  };
  const actions: FactActions = {
    onGo: goTo,
    onPlace: place => find({ by: 'place', place }),
    onToggle: toggle,
    onEnd: (side, end) => setEnds(toggled(ends, side, end))
  };
  const canCarve = record.sides == null && selected?.frame.part === 0;
  const type = (words: string): void => {
    setText(words);
    find(words.trim() ? { by: 'text', text: words } : null);
  };
  const compare = (beside: boolean): void => {
    setBeside(beside);
    select(null);
  };
  const save = (): void =>
    [...panes.linked].forEach(({ screen: { current } }, index) => {
      const picture = pictures[index];
      if (current && picture) {
        const number = isBeside ? `-${index + 1}` : '';
        download(`${fileName(record)}${number}.svg`, standalone(current, picture));
      }
    });
  const extent = {
    width: Math.max(...pictures.map(({ width }) => width)),
    height: Math.max(...pictures.map(each => each.height))
  };
  return (
    <div class="nbfn-Graph" ref={element}>
      <Toolbar
        text={text}
        onText={type}
        found={wanted && { many: hits.length, at }}
        onStep={step}
        onDifferences={record.sides ? () => find({ by: 'mark' }) : null}
        beside={record.sides ? { isBeside, onBeside: compare } : null}
        colourBy={colourBy}
        choices={choices(graph)}
        onColour={setColourBy}
        hasLabels={hasLabels}
        onLabels={setHasLabels}
        controls={
          graph.controlled > 0 ? { has: hasControls, onControls: setHasControls } : null
        }
        onZoom={zoom}
        onFit={fit}
        onWhole={
          document.fullscreenEnabled
            ? () => void element.current?.requestFullscreen().then(fit)
            : null
        }
      />
      <div class="nbfn-Graph-main">
        <div class={`nbfn-Graph-panes ${isBeside ? 'nbfn-mod-beside' : ''}`}>
          {pictures.map((picture, index) => {
            const title = isBeside ? (record.sides?.[index] ?? '') : null;
            return (
              <Pane
                key={`${isBeside} ${index}`}
                panes={panes}
                picture={picture}
                extent={extent}
                difference={differenceIn(pictures)}
                title={title}
                legend={legend}
                height={height}
                selected={selected?.id ?? null}
                found={marked}
                carved={carved}
                label={trans.__(
                  '%1: %2. Arrows go to neighbours, Enter opens and closes, Escape clears, plus, minus and 0 zoom.',
                  seen(title ?? record.title),
                  counts.operations(isBeside ? here(index) : record.total)
                )}
                onHeight={onHeight}
                onSelect={id => select(drawn([picture], id)[0] ?? null)}
                onToggle={toggle}
                onKey={event => onKey(event, picture)}
              />
            );
          })}
        </div>
        <SidePanel
          graph={graph}
          selected={selected}
          isOpen={selected !== null && open.has(selected.id)}
          place={wanted?.by === 'place' ? wanted.place : null}
          ends={canCarve ? ends : null}
          actions={actions}
        />
      </div>
      <CarveBar
        ends={ends}
        trace={record.trace ?? null}
        isLive={isLive}
        onClear={() => setEnds(NOTHING)}
      />
      <Footer
        record={record}
        colourBy={colourBy}
        legend={legend}
        isLive={isLive}
        onSave={save}
      />
      <TextTree
        whole={both.whole.root}
        onSelect={node => goTo(node.operation ?? undefined)}
      />
      <Spoken text={seen(spoken)} />
    </div>
  );

  function here(index: number): number {
    return planes[index]?.whole.root.operations.length ?? 0;
  }
}
