import type { VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { insertCell } from '../parts/actions';
import { Icon } from '../parts/icons';
import { SurroundingsContext } from '../parts/presence';

/** Properties of a question. */
interface QuestionProps {
  /** What the cell runs. */
  code: string;
  /** What it shows. */
  title: string;
  children: string;
}

/** A link that runs a cell; nothing where no kernel would run it, or no host would insert it. */
export function Question({ code, title, children }: QuestionProps): VNode | null {
  const { hasCells, presence } = useContext(SurroundingsContext);
  return hasCells && presence === 'live' ? (
    <button
      type="button"
      class="nbfn-CellReference nbfn-mod-link"
      title={title}
      onClick={event => {
        insertCell(event.currentTarget, { code, run: true });
      }}
    >
      <Icon name="run" />
      {children}
    </button>
  ) : null;
}
