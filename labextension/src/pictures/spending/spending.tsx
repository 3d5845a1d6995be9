import type { VNode } from 'preact';
import type { RunRecord } from '../../protocol';
import { counts, duration, percent, size } from '../../views/parts/format';
import { Sentence } from '../../views/parts/texts';
import { trans } from '../../words';
import { partsOf, sum } from './runs';

const titles = () =>
  [
    ['tracing', trans.__('Tracing'), trans.__('making graphs of Python')],
    ['graph', trans.__('Graphs'), trans.__('running what was traced')],
    [
      'python',
      trans.__('Python'),
      trans.__('and everything else, such as waiting for a device')
    ]
  ] as const;

/** How the time of all cells was spent: a bar, with words and numbers. */
export function Spending({ runs }: { runs: ReadonlyMap<string, RunRecord> }): VNode {
  const all = [...runs.values()];
  const seconds = sum(all, run => run.seconds);
  const parts = all.map(partsOf);
  const sampled = sum(all, run => run.sampled ?? 0);
  const elsewhere = sum(all, run => run.elsewhere ?? 0);
  const watched = sum(all, run => run.watched ?? 0);
  const copied = sum(all, run => run.copied_nbytes ?? 0);
  const number = counts.copies(sum(all, run => run.copies ?? 0));
  const copies = copied > 0 ? `${number} (${size(copied)})` : number;
  const shares = titles().map(([name, title, meaning]) => {
    const own = sum(parts, each => each[name]);
    return { name, title, meaning, own, share: seconds > 0 ? own / seconds : 0 };
  });
  return (
    <div class="nbfn-Timeline-spending">
      <div class="nbfn-Timeline-bar" aria-hidden="true">
        {shares.map(({ name, share }) => (
          <span
            key={name}
            class={`nbfn-mod-${name}`}
            style={{ width: `${(share * 100).toFixed(2)}%` }}
          />
        ))}
      </div>
      <ul class="nbfn-Timeline-shares">
        {shares.map(({ name, title, meaning, own, share }) => (
          <li key={name} title={meaning}>
            <span class={`nbfn-Timeline-swatch nbfn-mod-${name}`} aria-hidden="true" />
            <span class="nbfn-Timeline-what">{title}</span>{' '}
            <strong>{duration(own)}</strong>{' '}
            <span class="nbfn-Note">{percent(share)}</span>
          </li>
        ))}
      </ul>
      <p class="nbfn-Muted">
        {trans.__(
          '%1 in %2 of cells.',
          duration(seconds),
          counts.runs(sum(all, run => run.runs ?? 1))
        )}
        {sampled >= seconds / 100 &&
          ` ${trans.__('%1 of the graphs is an estimate from ten samples a second, because nbfn did not make those functions.', duration(sampled))}`}
        {elsewhere >= seconds / 100 &&
          ` ${trans.__('Calls on other threads took another %1.', duration(elsewhere))}`}{' '}
        {watched > 0 ? (
          trans.__(
            '%1 in %2; of other calls they are not known.',
            copies,
            counts.watchedCalls(watched)
          )
        ) : (
          <Sentence
            text={trans.__(
              'Copies between devices were not measured; `f.run(x)` measures those of a call.'
            )}
          />
        )}
      </p>
    </div>
  );
}
