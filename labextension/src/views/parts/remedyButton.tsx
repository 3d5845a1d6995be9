import type { VNode } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { RemedyRecord } from '../../protocol';
import { trans } from '../../words';
import { insertCell } from './actions';
import { Icon } from './icons';
import { SurroundingsContext } from './presence';
import { Sentence } from './texts';

/** Properties of a remedy. */
interface RemedyButtonProps {
  remedy: RemedyRecord;
  /** Id of the cell that needs the remedy, where known. */
  cellId?: string | null | undefined;
}

type Outcome = 'none' | 'copied' | 'shown';

/**
 * A remedy as a button that inserts its code as a new cell; plain text without code or kernel.
 *
 * If the host does not insert cells, the code is copied; if it cannot be copied, it is shown.
 */
export function RemedyButton({ remedy, cellId }: RemedyButtonProps): VNode {
  const [outcome, setOutcome] = useState<Outcome>('none');
  const { sentence, code } = remedy;
  const { presence } = useContext(SurroundingsContext);
  if (!code || presence !== 'live') {
    return (
      <span class="nbfn-Remedy nbfn-mod-text">
        <span>
          <Sentence text={sentence} />
        </span>
      </span>
    );
  }
  const apply = async (from: Element): Promise<void> => {
    if (insertCell(from, cellId ? { code, cellId } : { code })) {
      setOutcome('none');
    } else {
      setOutcome((await copied(code)) ? 'copied' : 'shown');
    }
  };
  return (
    <span class="nbfn-Remedy">
      <button
        type="button"
        class="nbfn-Button"
        title={trans.__('Insert a cell:\n%1', code)}
        onClick={event => void apply(event.currentTarget)}
      >
        <Icon name="insert" />
        <span>
          <Sentence text={sentence} />
        </span>
      </button>
      <span class="nbfn-Remedy-outcome" role="status">
        {outcome === 'copied' && trans.__('Copied: paste it into a cell.')}
        {outcome === 'shown' && trans.__('Copy this into a cell:')}
      </span>
      {outcome === 'shown' && <pre class="nbfn-Remedy-code">{code}</pre>}
    </span>
  );
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No clipboard on an insecure page, or no permission.
    return false;
  }
}
