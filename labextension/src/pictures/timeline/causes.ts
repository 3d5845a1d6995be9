import { trans } from '../../words';
import type { CauseRecord } from '../../protocol';

/** Why a trace was made. */
export type CauseCode = CauseRecord['code'];

/** The subject of a cause, which determines its colour. */
export type CauseGroup = 'tensor' | 'python' | 'code' | 'other';

/** A cause as a sign and words. */
interface CauseSign {
  readonly sign: string;
  readonly group: CauseGroup;
  readonly words: string;
}

const signs = (): Partial<Record<CauseCode, CauseSign>> => ({
  shape: { sign: 'S', group: 'tensor', words: trans.__('another shape') },
  rank: { sign: 'R', group: 'tensor', words: trans.__('another rank') },
  dtype: { sign: 'D', group: 'tensor', words: trans.__('another dtype') },
  structure: { sign: '{}', group: 'tensor', words: trans.__('another structure') },
  python_value: { sign: '#', group: 'python', words: trans.__('another Python value') },
  python_type: { sign: 'T', group: 'python', words: trans.__('another Python type') },
  object_identity: { sign: '≠', group: 'python', words: trans.__('another object') },
  alias: { sign: '=', group: 'python', words: trans.__('one variable by two names') },
  stale: { sign: '!', group: 'code', words: trans.__('what it read has changed') },
  new_code: { sign: 'C', group: 'code', words: trans.__('new code') },
  new_function: { sign: 'F', group: 'code', words: trans.__('defined again') },
  new_instance: { sign: 'I', group: 'code', words: trans.__('another instance') },
  variable_creation: {
    sign: 'V',
    group: 'other',
    words: trans.__('creates variables')
  },
  after_failure: { sign: 'A', group: 'other', words: trans.__('after a failure') },
  evicted: { sign: 'E', group: 'other', words: trans.__('evicted before') },
  device: { sign: '@', group: 'other', words: trans.__('another device') },
  strategy: { sign: '&', group: 'other', words: trans.__('another strategy') },
  summaries: { sign: 'W', group: 'other', words: trans.__('another summary writer') },
  context: { sign: '~', group: 'other', words: trans.__('another context') },
  widened: { sign: 'O', group: 'other', words: trans.__('sizes left open') },
  xla_compile: { sign: 'X', group: 'other', words: trans.__('XLA compiles') },
  relaxed: { sign: '*', group: 'other', words: trans.__('relaxed') },
  requested: { sign: '+', group: 'other', words: trans.__('requested') },
  export: { sign: '>', group: 'other', words: trans.__('for an export') }
});

/** The sign of a cause, and what it means. */
export function causeSign(code: CauseCode): CauseSign {
  return (
    signs()[code] ?? { sign: '?', group: 'other', words: trans.__('unknown cause') }
  );
}
