import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { KernelState } from '../feed/store';
import type { Totals } from '../protocol';
import { trans } from '../words';
import { counts, duration } from './parts/format';
import { Picture } from './outlines/picture';

/** The timeline of the runs; a sentence until the picture is loaded. */
export function Timeline({ state }: { state: KernelState }): VNode {
  const { runs, functions, traces, retraces, totals } = state;
  const data = useMemo(
    () => ({ runs, functions, traces, retraces }),
    [runs, functions, traces, retraces]
  );
  return (
    <Picture name="timeline" data={data}>
      <p class="nbfn-Empty">
        {runs.size > 0
          ? timelineNote(totals)
          : trans.__('No cell has run since nbfn was loaded.')}
      </p>
    </Picture>
  );
}

/** How long all cells took, in words. */
export function timelineNote({ runs = 0, run_seconds = 0 }: Totals): string {
  return trans.__('%1 in %2', duration(run_seconds), counts.runs(runs));
}
