import type { VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { insertCell } from '../parts/actions';
import { Icon } from '../parts/icons';
import { SurroundingsContext } from '../parts/presence';

/** Properties of `RunCellLink`. */
interface RunCellLinkProps {
  /** The code of the cell. */
  code: string;
  /** The text on hover. */
  title: string;
  children: string;
}

/** A link that runs a new cell; nothing without a kernel, or if the host has no cells. */
export function RunCellLink({ code, title, children }: RunCellLinkProps): VNode | null {
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
