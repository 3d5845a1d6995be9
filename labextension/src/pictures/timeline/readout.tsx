import type { VNode } from 'preact';
import { counts, duration } from '../../views/parts/format';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';
import { sum } from '../spending/runs';
import type { Lane } from './blocks';
import { causeSign } from './causes';
import type { Mark } from './marks';
import { causeOfMark, longestOf } from './marks';
import type { Span } from './timeAxis';

/** The text of the mark under the pointer; announced to screen readers when selected by keys. */
export function Readout({
  mark,
  lane,
  pause,
  spoken
}: {
  mark: Mark | null;
  lane: Lane | null;
  /** The pause under the pointer. */
  pause: Span | null;
  spoken: boolean;
}): VNode {
  const longest = mark && longestOf(mark.blocks);
  const cause = mark && causeOfMark(mark);
  const sign = cause && causeSign(cause.code);
  const several = mark !== null && mark.blocks.length > 1;
  const what = lane?.id === 'cells' ? counts.runs : counts.traces;
  return (
    <p
      class="nbfn-Timeline-readout"
      {...(spoken ? { role: 'status' } : { 'aria-hidden': 'true' })}
    >
      {mark && longest && lane ? (
        <>
          {lane.isCode && (
            <>
              <code>{seen(lane.name)}</code>
              {', '}
            </>
          )}
          <strong>
            {several ? what(sum(mark.blocks, block => block.count)) : longest.name}
          </strong>
          {several &&
            ` ${trans.__('in %1; the longest: %2', duration(sum(mark.blocks, block => block.seconds)), longest.name)}`}
          {sign && (
            <>
              {' · '}
              <span class={`nbfn-Timeline-sign nbfn-mod-${sign.group}`}>
                {sign.sign}
              </span>
              {trans.__('retrace: %1', sign.words)}
            </>
          )}
          {` · ${seen(longest.text)}`}
        </>
      ) : pause ? (
        trans.__(
          'A pause of %1, drawn shorter than it was.',
          duration(pause.to - pause.from)
        )
      ) : (
        <span class="nbfn-Muted">
          {trans.__(
            'Point at a bar to read it; click it to go to its cell. Drag to move; drag across the strip above, or turn the wheel with Ctrl, to zoom.'
          )}
        </span>
      )}
    </p>
  );
}
