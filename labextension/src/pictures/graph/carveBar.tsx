import type { VNode } from 'preact';
import { RemedyButton } from '../../views/parts/remedyButton';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';
import type { End, Ends } from './model/carving';
import { carvingCode, nameOf } from './model/carving';

/** The tensors chosen for carving, and a button that inserts the code. */
export function CarveBar(props: {
  ends: Ends;
  trace: string | null;
  isLive: boolean;
  onClear: () => void;
}): VNode | null {
  const { ends, trace, isLive, onClear } = props;
  const { input, output } = ends;
  if (input.length === 0 && output.length === 0) {
    return null;
  }
  const isReady = input.length > 0 && output.length > 0;
  return (
    <div class="nbfn-Graph-carving" role="group" aria-label={trans.__('Carve')}>
      <Side title={trans.__('inputs')} ends={input} />
      <Side title={trans.__('outputs')} ends={output} />
      {isReady && isLive && trace !== null && (
        <RemedyButton
          remedy={{
            sentence: trans.__('Carve this part into a function'),
            code: carvingCode(trace, ends)
          }}
        />
      )}
      {!isReady && (
        <span class="nbfn-Note">{trans.__('choose an input and an output')}</span>
      )}
      {isReady && trace === null && (
        <span class="nbfn-Note">
          {trans.__('no name in the notebook leads to this trace')}
        </span>
      )}
      <button type="button" class="nbfn-mod-link" onClick={onClear}>
        {trans.__('Clear')}
      </button>
    </div>
  );
}

function Side({ title, ends }: { title: string; ends: readonly End[] }): VNode {
  return (
    <span>
      <span class="nbfn-Muted">{`${title} `}</span>
      {ends.length > 0 ? <code>{seen(ends.map(nameOf).join(', '))}</code> : '–'}{' '}
    </span>
  );
}
