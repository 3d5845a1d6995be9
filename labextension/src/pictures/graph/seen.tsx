import type { VNode } from 'preact';
import { duration, integer, percent } from '../../views/parts/format';
import { Limited } from '../../views/parts/limited';
import { seen, Sentence } from '../../views/parts/texts';
import { trans } from '../../words';
import type { Operation } from './model/operations';

/** The values that the line of an operation computed when they were last recorded. */
export function Values({ texts }: { texts: readonly string[] }): VNode {
  return (
    <Limited items={texts} step={6}>
      {visible => (
        <ul>
          {visible.map((text, index) => (
            <li key={index}>
              <Sentence text={text} />
            </li>
          ))}
        </ul>
      )}
    </Limited>
  );
}

/** The time of an operation, or why it is unknown. */
export function Time(props: { operation: Operation; whole: number }): VNode {
  const { time } = props.operation;
  if (!time) {
    return (
      <span class="nbfn-Muted">
        {trans.__('It did not run itself: fused, folded, or not needed')}
      </span>
    );
  }
  const { seconds, within, executions, ran_as: other } = time;
  return (
    <>
      {executions > 0 && (
        <p>
          {part(seconds, props.whole)}
          {executions > 1 && trans.__(', %1 executions', integer(executions))}
        </p>
      )}
      {within != null && (
        <p>{trans.__('%1 in what it calls', part(within, props.whole))}</p>
      )}
      {other != null && <p>{trans.__('ran as %1', seen(other))}</p>}
    </>
  );
}

/** A time and its share, such as "1.2 ms, 30 %". */
export function part(seconds: number, whole: number): string {
  return `${duration(seconds)}, ${percent(whole > 0 ? seconds / whole : 0)}`;
}
