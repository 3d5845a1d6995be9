import type { VNode } from 'preact';
import type { Phrase } from '../../protocol';
import { trans } from '../../words';

/** The result of a check. */
type Verdict = NonNullable<Phrase['verdict']>;

/** The names of the icons. */
type IconName = 'hit' | 'trace' | 'retrace' | 'idle' | 'insert' | 'run' | Verdict;

const PATHS: Record<IconName, string> = {
  hit: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm-1 10.2L3.9 8.1 5 7l2 2 4-4 1.1 1.1z',
  trace:
    'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm3.5 7.75H8.75v2.75h-1.5V8.75H4.5v-1.5h2.75V4.5h1.5v2.75h2.75z',
  retrace:
    'M8 2.2a5.8 5.8 0 0 0-4.9 2.7V2.7H1.6v5h5V6.2H4.2A4.3 4.3 0 1 1 3.9 9.6l-1.5.5A5.8 5.8 0 1 0 8 2.2z',
  idle: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm0 1.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11z',
  passed: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm-1 10.2L3.9 8.1 5 7l2 2 4-4 1.1 1.1z',
  failed:
    'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm3.2 9.1-1.1 1.1L8 9.1l-2.1 2.1-1.1-1.1L6.9 8 4.8 5.9l1.1-1.1L8 6.9l2.1-2.1 1.1 1.1L9.1 8z',
  refused: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zM4 7.1h8v1.8H4z',
  unverified: 'M8 1.5 15.2 14H.8zM7.2 6v4h1.6V6zm0 5v1.5h1.6V11z',
  run: 'M4 2.5 13 8l-9 5.5z',
  insert:
    'M2 2h12v4H2zm1.5 1.5v1h9v-1zM7.25 8h1.5v2.25H11v1.5H8.75V14h-1.5v-2.25H5v-1.5h2.25z'
};

/** An icon; without a label it is decorative, because the text beside it has the same meaning. */
export function Icon({ name, label }: { name: IconName; label?: string }): VNode {
  return (
    <svg
      class={`nbfn-Icon nbfn-mod-${name}`}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      focusable="false"
      {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' })}
    >
      <path fill="currentColor" fill-rule="evenodd" d={PATHS[name]} />
    </svg>
  );
}

const verdicts = (): Record<Verdict, string> => ({
  passed: trans.__('passed'),
  failed: trans.__('failed'),
  refused: trans.__('refused'),
  unverified: trans.__('not verified')
});

/** The icon of a check's result; nothing without a result. */
export function VerdictIcon({
  verdict
}: {
  verdict: Verdict | null | undefined;
}): VNode | null {
  return verdict ? (
    <>
      <Icon name={verdict} label={verdicts()[verdict]} />{' '}
    </>
  ) : null;
}
