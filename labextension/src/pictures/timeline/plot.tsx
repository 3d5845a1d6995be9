import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { revealPlace } from '../../views/parts/cellReference';
import { seen } from '../../views/parts/texts';
import { Bars } from './bars';
import type { Lane } from './blocks';
import { Grid } from './grid';
import { marksOf } from './marks';
import type { Mark } from './marks';
import type { ChoiceProps } from './overview';
import { Readout } from './readout';
import { panned, pixels, timeAt, zoomed } from './timeAxis';
import type { Span } from './timeAxis';
import type { RunRecord } from '../../protocol';
import { trans } from '../../words';
import { Memory } from '../spending/memory';
import { useWidth } from '../spending/width';

/** Properties of the lanes. */
interface PlotProps extends ChoiceProps {
  runs: ReadonlyMap<string, RunRecord>;
}

/** A mark of a lane. */
interface Place {
  lane: number;
  mark: Mark;
}

/** Distance in pixels within which the pointer selects a mark. */
const NEAR = 4;

/** The lanes below each other, along time. */
export function Plot({ lanes, axis, shown, onShow, runs }: PlotProps): VNode {
  const [element, width] = useWidth();
  const [hovered, setHovered] = useState<Place | null>(null);
  const [pause, setPause] = useState<Span | null>(null);
  const [selected, setSelected] = useState<{ lane: string; at: number } | null>(null);
  const drag = useRef<{ x: number; shown: Span; moved: boolean } | null>(null);
  const toPixels = pixels(axis, shown, width);
  const drawn = useMemo(
    () => lanes.map(lane => marksOf(lane.blocks, toPixels, width)),
    [lanes, axis, shown, width]
  );
  const chosen = placeOf(lanes, drawn, selected);

  const xOf = (event: MouseEvent): number =>
    event.clientX - (element.current?.getBoundingClientRect().left ?? 0);
  const placeAt = (event: MouseEvent): Place | null => {
    const row = (event.target as Element).closest<HTMLElement>('[data-lane]');
    const lane = Number(row?.dataset.lane ?? -1);
    const mark = nearest(drawn[lane] ?? [], xOf(event));
    return mark ? { lane, mark } : null;
  };
  const select = ({ lane, mark }: Place): void => {
    const id = lanes[lane]?.id;
    if (id !== undefined) {
      setSelected({ lane: id, at: (mark.from + mark.to) / 2 });
    }
  };
  const zoom = (factor: number, x: number): void =>
    onShow(zoomed(axis, shown, factor, x / width));

  useEffect(() => {
    const { current } = element;
    // A wheel scrolls the page; with Ctrl, or a pinch, it zooms.
    const turned = (event: WheelEvent): void => {
      const { deltaX, deltaY } = event;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(2 ** (-deltaY / 200), xOf(event));
      } else if (Math.abs(deltaX) > Math.abs(deltaY)) {
        event.preventDefault();
        onShow(panned(axis, shown, deltaX / width));
      }
    };
    // A passive listener could not prevent that the browser zooms the page.
    current?.addEventListener('wheel', turned, { passive: false });
    return () => current?.removeEventListener('wheel', turned);
  });

  const go = (from: Element, { mark }: Place): void => {
    const only = mark.blocks.length === 1 ? mark.blocks[0] : undefined;
    if (!only?.cell || !revealPlace(from, only.cell)) {
      zoom(4, mark.x + mark.width / 2);
    }
  };
  const pressed = (event: KeyboardEvent): void => {
    const center = chosen ? chosen.mark.x + chosen.mark.width / 2 : width / 2;
    const step = steps[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    if (step && event.shiftKey) {
      onShow(panned(axis, shown, step.along / 4));
    } else if (step) {
      const next = neighbour(drawn, chosen, step);
      if (next) {
        select(next);
      } else if (step.along) {
        onShow(panned(axis, shown, step.along / 4));
      }
    } else if (event.key === '+' || event.key === '=') {
      zoom(2, center);
    } else if (event.key === '-') {
      zoom(0.5, center);
    } else if (event.key === 'Home') {
      onShow(axis.whole);
    } else if (event.key === 'Enter' && chosen) {
      go(event.currentTarget as Element, chosen);
    } else if (event.key === 'Escape' && chosen) {
      setSelected(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const marked = hovered ?? chosen;
  return (
    <>
      <div
        ref={element}
        class="nbfn-Timeline-plot"
        role="application"
        aria-roledescription={trans.__('timeline')}
        aria-label={trans.__(
          'Cells and traces along time. Arrows go from one to the next, plus and minus zoom, Home shows everything, Enter goes to the cell.'
        )}
        tabIndex={0}
        data-lm-suppress-shortcuts="true"
        onKeyDown={pressed}
        onPointerDown={event => {
          drag.current = { x: event.clientX, shown, moved: false };
        }}
        onPointerMove={event => {
          const { current } = drag;
          if (!current || event.buttons === 0) {
            const found = placeAt(event);
            const time = timeAt(axis, shown, xOf(event) / width);
            const isIn = (one: Span): boolean => one.from < time && time < one.to;
            setHovered(found);
            setPause(found ? null : (axis.pauses.find(isIn) ?? null));
          } else if (current.moved || Math.abs(event.clientX - current.x) > NEAR) {
            current.moved = true;
            element.current?.setPointerCapture(event.pointerId);
            const share = (current.x - event.clientX) / width;
            onShow(panned(axis, current.shown, share));
          }
        }}
        onPointerLeave={() => {
          setHovered(null);
          setPause(null);
        }}
        onDblClick={event => zoom(event.shiftKey ? 0.25 : 4, xOf(event))}
        onClick={event => {
          const found = placeAt(event);
          if (found && !drag.current?.moved) {
            select(found);
            if (event.detail < 2) {
              go(event.currentTarget, found);
            }
          }
        }}
      >
        <Grid axis={axis} shown={shown} width={width} />
        {lanes.map((lane, index) => (
          <div key={lane.id} class="nbfn-Timeline-lane" data-lane={index}>
            <div class="nbfn-Timeline-name">
              {lane.isCode ? (
                <code title={lane.name}>{seen(lane.name)}</code>
              ) : (
                <span>{lane.name}</span>
              )}{' '}
              <span class="nbfn-Note">{lane.note}</span>
            </div>
            <Bars
              marks={drawn[index] ?? []}
              width={width}
              isCells={lane.id === 'cells'}
              marked={marked?.lane === index ? marked.mark : null}
              isChosen={chosen?.lane === index && !hovered}
            />
          </div>
        ))}
        <Memory runs={runs} toPixels={toPixels} width={width} />
      </div>
      <Readout
        mark={marked?.mark ?? null}
        lane={marked ? (lanes[marked.lane] ?? null) : null}
        pause={pause}
        spoken={chosen !== null && !hovered}
      />
    </>
  );
}

const steps: Partial<Record<string, { along: number; across: number }>> = {
  ArrowLeft: { along: -1, across: 0 },
  ArrowRight: { along: 1, across: 0 },
  ArrowUp: { along: 0, across: -1 },
  ArrowDown: { along: 0, across: 1 }
};

function nearest(marks: readonly Mark[], x: number): Mark | null {
  let best: Mark | null = null;
  let least = NEAR;
  for (const mark of marks) {
    const away = Math.max(mark.x - x, x - mark.x - mark.width, 0);
    if (away < least || (away === 0 && least === 0)) {
      [best, least] = [mark, away];
    }
  }
  return best;
}

function placeOf(
  lanes: readonly Lane[],
  drawn: readonly (readonly Mark[])[],
  selected: { lane: string; at: number } | null
): Place | null {
  const lane = lanes.findIndex(one => one.id === selected?.lane);
  const mark = drawn[lane]?.find(
    one => selected && one.from <= selected.at && one.to >= selected.at
  );
  return mark ? { lane, mark } : null;
}

/** The next mark along time, or the one closest in time on the next lane that has one. */
function neighbour(
  drawn: readonly (readonly Mark[])[],
  from: Place | null,
  { along, across }: { along: number; across: number }
): Place | null {
  if (!from) {
    const lane = drawn.findIndex(marks => marks.length > 0);
    const mark = along < 0 ? drawn[lane]?.at(-1) : drawn[lane]?.[0];
    return mark ? { lane, mark } : null;
  }
  if (along) {
    const marks = drawn[from.lane] ?? [];
    const mark = marks[marks.indexOf(from.mark) + along];
    return mark ? { lane: from.lane, mark } : null;
  }
  for (
    let lane = from.lane + across;
    lane >= 0 && lane < drawn.length;
    lane += across
  ) {
    const middle = from.mark.x + from.mark.width / 2;
    const away = (mark: Mark): number => Math.abs(mark.x + mark.width / 2 - middle);
    const [mark] = [...(drawn[lane] ?? [])].sort((a, b) => away(a) - away(b));
    if (mark) {
      return { lane, mark };
    }
  }
  return null;
}
