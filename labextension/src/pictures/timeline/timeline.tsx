import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { TimelineData } from './blocks';
import { lanesOf, leftOut } from './blocks';
import { causeSign } from './causes';
import { counted } from '../../feed/lookup';
import { counts, integer } from '../../views/parts/format';
import { trans } from '../../words';
import { endingOf } from '../spending/runs';
import { Overview } from './overview';
import { Plot } from './plot';
import { RunTable } from './runTable';
import { Scatter } from '../spending/scatter';
import { Spending } from '../spending/spending';
import type { Span } from './timeAxis';
import { timeAxis, zoomed } from './timeAxis';

/** The timeline: which cells and traces ran when, and where the time went. */
export function TimelinePicture(data: TimelineData): VNode {
  const { runs, functions, traces, retraces } = data;
  if (runs.size === 0 && traces.size === 0) {
    return (
      <p class="nbfn-Empty">
        {trans.__(
          'No cell has run since nbfn was loaded. Run one: it appears here with what it spent on tracing, graphs and Python.'
        )}
      </p>
    );
  }
  return (
    <div class="nbfn-Timeline">
      <Course {...{ runs, functions, traces, retraces }} />
      <h4 class="nbfn-Timeline-heading">{trans.__('Where the time went')}</h4>
      <Spending runs={runs} />
      <h4 class="nbfn-Timeline-heading">{trans.__('Tracing against running')}</h4>
      <Scatter functions={functions} />
      <RunTable runs={runs} functions={functions} />
    </div>
  );
}

/** The lanes along time, with the controls of the shown span. */
function Course(data: TimelineData): VNode {
  const { runs, functions, traces, retraces } = data;
  const [shortens, setShortens] = useState(true);
  const [chosen, setChosen] = useState<Span | null>(null);
  const lanes = useMemo(() => lanesOf(data), [runs, functions, traces, retraces]);
  const axis = useMemo(() => {
    const blocks = lanes.flatMap(lane => lane.blocks);
    return timeAxis(blocks, shortens);
  }, [lanes, shortens]);
  const { whole } = axis;
  const shown = chosen ?? whole;
  // If the whole time is shown, it stays whole while it grows.
  const show = (span: Span): void => {
    const isWhole = span.from <= whole.from && span.to >= whole.to;
    setChosen(isWhole ? null : span);
  };
  const left = leftOut(data);
  return (
    <>
      <div class="nbfn-Timeline-tools">
        <button
          type="button"
          class="nbfn-Button"
          aria-label={trans.__('Zoom in')}
          title={trans.__('Zoom in (+)')}
          onClick={() => show(zoomed(axis, shown, 2))}
        >
          +
        </button>
        <button
          type="button"
          class="nbfn-Button"
          aria-label={trans.__('Zoom out')}
          title={trans.__('Zoom out (-)')}
          disabled={!chosen}
          onClick={() => show(zoomed(axis, shown, 0.5))}
        >
          −
        </button>
        <button
          type="button"
          class="nbfn-Button"
          title={trans.__('Show everything (Home)')}
          disabled={!chosen}
          onClick={() => setChosen(null)}
        >
          {trans.__('All')}
        </button>
        <label class="nbfn-Timeline-option">
          <input
            type="checkbox"
            checked={shortens}
            onChange={event => setShortens(event.currentTarget.checked)}
          />{' '}
          {trans.__('Shorten pauses')}
        </label>
      </div>
      <Overview lanes={lanes} axis={axis} shown={shown} onShow={show} />
      <Plot lanes={lanes} axis={axis} shown={shown} onShow={show} runs={runs} />
      <Legend data={data} />
      {left > 0 && (
        <p class="nbfn-Muted">
          {trans.__(
            '%1 not drawn; the cells above have their time.',
            counts.olderTraces(left)
          )}
        </p>
      )}
    </>
  );
}

/** The legend: the colours, and the signs of the causes that occur. */
function Legend({ data }: { data: TimelineData }): VNode {
  const causes = useMemo(() => {
    const retraces = [...data.retraces.values()];
    return counted(retraces.map(({ causes: [cause] }) => cause?.code ?? 'unknown'));
  }, [data.retraces]);
  return (
    <ul class="nbfn-Timeline-legend" aria-label={trans.__('Legend')}>
      {(['tracing', 'graph', 'python'] as const).map(part => (
        <li key={part}>
          <span class={`nbfn-Timeline-swatch nbfn-mod-${part}`} aria-hidden="true" />
          {parts()[part]}
        </li>
      ))}
      {[...data.runs.values()].some(run => endingOf({ ...run, running: false })) && (
        <li>
          <span class="nbfn-Timeline-swatch nbfn-mod-failed" aria-hidden="true" />
          {trans.__('failed')}
        </li>
      )}
      {causes.map(([code, number]) => {
        const { sign, group, words } = causeSign(code);
        return (
          <li key={code}>
            <span class={`nbfn-Timeline-sign nbfn-mod-${group}`} aria-hidden="true">
              {sign}
            </span>
            {words} <span class="nbfn-Note">{`${integer(number)} ×`}</span>
          </li>
        );
      })}
    </ul>
  );
}

const parts = () => ({
  tracing: trans.__('tracing'),
  graph: trans.__('graphs'),
  python: trans.__('Python')
});
