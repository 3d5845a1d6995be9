import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { GraphRecord } from '../../protocol';
import { counts } from '../../views/parts/format';
import { seen, Spoken } from '../../views/parts/texts';
import { trans } from '../../words';
import { Canvas } from './canvas/canvas';
import { measureIn } from './canvas/measure';
import { usePanZoom } from './canvas/panZoom';
import { useSteadyView } from './canvas/steadyView';
import { download, standalone } from './canvas/svgFile';
import { zoomed } from './canvas/view';
import { CarveBar } from './carveBar';
import type { FactActions } from './facts';
import { BoxFacts, OperationFacts } from './facts';
import { fileName, Footer } from './footer';
import type { Ends } from './model/carving';
import { toggled } from './model/carving';
import type { ColourBy } from './model/colours';
import { choices, legendOf } from './model/colours';
import type { Wanted } from './model/finding';
import { found, nodeOf } from './model/finding';
import { Layout } from './model/layout';
import { ARROWS, neighbour } from './model/moves';
import type { Operation } from './model/operations';
import { Operations } from './model/operations';
import type { Node } from './model/node';
import { Frame } from './model/tree';
import { Overview } from './overview';
import { TextTree } from './textTree';
import { Toolbar } from './toolbar';

/** What the picture of a graph shows. */
export interface GraphPictureProps {
  graph: GraphRecord;
  /** Whether a kernel is there for which code can be put into cells. */
  isLive: boolean;
}

const NOTHING: Ends = { input: [], output: [] };

const keys = new WeakMap<GraphRecord, number>();
let lastKey = 0;

/** The picture of a graph, or what to do if there is nothing in it. */
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
  // Another graph begins anew: what is open and selected belongs to one.
  return <Drawn key={keys.get(graph)} graph={graph} isLive={isLive} />;
}

function Drawn({ graph: record, isLive }: GraphPictureProps): VNode {
  const graph = useMemo(() => new Operations(record), [record]);
  const whole = useMemo(() => new Frame(graph, 0), [graph]);
  const layout = useMemo(
    () => new Layout(whole.root, measureIn(document.body)),
    [whole]
  );
  const [open, setOpen] = useState<ReadonlySet<string>>(() => openedFirst(whole.root));
  const [selected, setSelected] = useState<Node | null>(null);
  const [text, setText] = useState('');
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const [at, setAt] = useState(0);
  const [colourBy, setColourBy] = useState<ColourBy>(choices(graph)[0] ?? 'type');
  const [hasLabels, setHasLabels] = useState(true);
  const [ends, setEnds] = useState(NOTHING);
  const [said, say] = useState('');
  const element = useRef<HTMLDivElement>(null);
  const panZoom = usePanZoom();
  const picture = useMemo(
    () => layout.draw(open, hasLabels),
    [layout, open, hasLabels]
  );
  const legend = useMemo(() => legendOf(graph, colourBy), [graph, colourBy]);
  const hits = useMemo(() => (wanted ? found(graph, wanted) : []), [graph, wanted]);
  const marked = useMemo(() => new Set(hits), [hits]);
  const carved = useMemo(() => carvedOf(ends), [ends]);
  const { height, move } = useSteadyView(panZoom, picture);

  const toggle = (id: string): void => {
    const node = picture.boxes.find(box => box.node.id === id)?.node;
    if (node?.canOpen) {
      move({ to: 'same', id });
      setOpen(opened(open, node));
      select(node);
    }
  };
  const select = (node: Node | null): void => {
    setSelected(node);
    say(node ? described(node, open) : '');
  };
  const go = (node: Node | null): void => {
    if (node) {
      setOpen(new Set([...open, ...node.ancestors.map(({ id }) => id)]));
      select(node);
      move({ to: 'middle', id: node.id });
    }
  };
  const goTo = (operation: Operation | undefined): void => {
    if (operation) {
      // In the body where one is, if it is called more than once.
      const { leaves, part } = selected?.frame ?? whole;
      const here = part === operation.part ? leaves[operation.number] : undefined;
      go(here ?? nodeOf(whole, operation));
    }
  };
  const find = (next: Wanted | null): void => {
    setWanted(next);
    setAt(0);
    goTo(next ? found(graph, next)[0] : undefined);
  };
  const step = (by: number): void => {
    if (hits.length > 0) {
      const next = (at + by + hits.length) % hits.length;
      setAt(next);
      goTo(hits[next]);
    }
  };
  const zoom = (factor: number): void => {
    const { width, height: half } = panZoom.size();
    panZoom.show(zoomed(panZoom.view(), factor, { x: width / 2, y: half / 2 }));
  };
  const fit = (): void => move({ to: 'all' });
  const onKey = (event: TargetedKeyboardEvent<SVGSVGElement>): void => {
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
  const isSelectedOpen = selected !== null && open.has(selected.id);
  const canCarve = record.sides == null && selected?.frame.part === 0;
  const type = (words: string): void => {
    setText(words);
    find(words.trim() ? { by: 'text', text: words } : null);
  };
  return (
    <div class="nbfn-Graph" ref={element}>
      <Toolbar
        text={text}
        onText={type}
        found={wanted && { many: hits.length, at }}
        onStep={step}
        onDifferences={record.sides ? () => find({ by: 'mark' }) : null}
        colourBy={colourBy}
        choices={choices(graph)}
        onColour={setColourBy}
        hasLabels={hasLabels}
        onLabels={setHasLabels}
        onZoom={zoom}
        onFit={fit}
        onWhole={
          document.fullscreenEnabled
            ? () => void element.current?.requestFullscreen().then(fit)
            : null
        }
      />
      <div class="nbfn-Graph-main">
        <Canvas
          picture={picture}
          legend={legend}
          panZoom={panZoom}
          height={height}
          selected={selected?.id ?? null}
          found={marked}
          carved={carved}
          label={trans.__(
            '%1: %2. Arrows go to neighbours, Enter opens and closes, Escape clears, plus, minus and 0 zoom.',
            seen(record.title),
            counts.operations(record.total)
          )}
          onSelect={id =>
            select(picture.boxes.find(({ node }) => node.id === id)?.node ?? null)
          }
          onToggle={toggle}
          onKey={onKey}
        />
        <div class="nbfn-Graph-side">
          {!selected && (
            <Overview
              graph={graph}
              place={wanted?.by === 'place' ? wanted.place : null}
              actions={actions}
            />
          )}
          {selected &&
            (selected.operation ? (
              <OperationFacts
                node={selected}
                operation={selected.operation}
                isOpen={isSelectedOpen}
                ends={canCarve ? ends : null}
                actions={actions}
              />
            ) : (
              <BoxFacts node={selected} isOpen={isSelectedOpen} actions={actions} />
            ))}
        </div>
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
        onSave={() => {
          const { current } = panZoom.screen;
          if (current) {
            download(`${fileName(record)}.svg`, standalone(current, picture));
          }
        }}
      />
      <TextTree whole={whole.root} onSelect={go} />
      <Spoken text={seen(said)} />
    </div>
  );
}

/** One scope that holds everything is open; nothing else is. */
function openedFirst(root: Node): ReadonlySet<string> {
  const [only, more] = root.children;
  return new Set(only && !more && !only.operation ? [only.id] : []);
}

/** What is open after a box was opened, with the functions that it calls, or closed. */
function opened(open: ReadonlySet<string>, node: Node): ReadonlySet<string> {
  const next = new Set(open);
  if (!next.delete(node.id)) {
    next.add(node.id);
    if (node.operation) {
      node.children.forEach(({ id }) => next.add(id));
    }
  }
  return next;
}

function carvedOf(ends: Ends): ReadonlyMap<Operation, 'input' | 'output'> {
  return new Map([
    ...ends.input.map(({ operation }) => [operation, 'input'] as const),
    ...ends.output.map(({ operation }) => [operation, 'output'] as const)
  ]);
}

/** What a screen reader says of a node. */
function described(node: Node, open: ReadonlySet<string>): string {
  const { operation, label, operations } = node;
  if (operation) {
    return [operation.type, operation.name, ...operation.results].join(', ');
  }
  const state = open.has(node.id) ? trans.__('open') : trans.__('closed');
  return [label, counts.operations(operations.length), state].join(', ');
}
