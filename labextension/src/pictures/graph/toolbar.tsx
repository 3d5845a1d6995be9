import type { ComponentChildren, VNode } from 'preact';
import { integer } from '../../views/parts/format';
import { trans } from '../../words';
import type { ColourBy } from './model/colours';

/** Properties of the toolbar. */
interface ToolbarProps {
  text: string;
  onText: (text: string) => void;
  /** The number of matches, and the index of the shown one, from 0; null without a search. */
  found: { many: number; at: number } | null;
  onStep: (by: number) => void;
  /** Shows the next difference; null if nothing is compared. */
  onDifferences: (() => void) | null;
  /** Whether two graphs are side by side; null if nothing is compared. */
  beside: { isBeside: boolean; onBeside: (wanted: boolean) => void } | null;
  colourBy: ColourBy;
  choices: readonly ColourBy[];
  onColour: (by: ColourBy) => void;
  hasLabels: boolean;
  onLabels: (wanted: boolean) => void;
  /** Whether control dependencies are drawn; null if there are none. */
  controls: { has: boolean; onControls: (wanted: boolean) => void } | null;
  onZoom: (factor: number) => void;
  onFit: () => void;
  onWhole: (() => void) | null;
}

/** The toolbar above the picture: search, colours and zoom. */
export function Toolbar(props: ToolbarProps): VNode {
  const { found, beside, colourBy, hasLabels, controls } = props;
  return (
    <div class="nbfn-Graph-toolbar" role="toolbar" aria-label={trans.__('Graph')}>
      <input
        type="search"
        class="nbfn-Filter-input"
        placeholder={trans.__('Find by name or type')}
        aria-label={trans.__(
          'Find operations by name or type; * matches any text, ? one character'
        )}
        value={props.text}
        onInput={event => props.onText(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Enter') {
            props.onStep(event.shiftKey ? -1 : 1);
          } else if (event.key === 'Escape') {
            props.onText('');
          }
        }}
      />
      {found && (
        <span class="nbfn-Graph-steps">
          <Press
            label={trans.__('Previous')}
            text="‹"
            onPress={() => props.onStep(-1)}
          />
          <span class="nbfn-Note" role="status">
            {found.many === 0
              ? trans.__('none found')
              : trans.__('%1 of %2', integer(found.at + 1), integer(found.many))}
          </span>
          <Press label={trans.__('Next')} text="›" onPress={() => props.onStep(1)} />
        </span>
      )}
      {props.onDifferences && (
        <button type="button" class="nbfn-Button" onClick={props.onDifferences}>
          {trans.__('Differences')}
        </button>
      )}
      {beside && (
        <span
          class="nbfn-Graph-steps"
          role="group"
          aria-label={trans.__('Both graphs')}
        >
          {[false, true].map(wanted => (
            <button
              key={String(wanted)}
              type="button"
              class="nbfn-Button nbfn-Graph-choice"
              aria-pressed={beside.isBeside === wanted}
              onClick={() => beside.onBeside(wanted)}
            >
              {wanted ? trans.__('Side by side') : trans.__('Merged')}
            </button>
          ))}
        </span>
      )}
      <label>
        {trans.__('Colour')}{' '}
        <select
          value={colourBy}
          onChange={event => props.onColour(event.currentTarget.value as ColourBy)}
        >
          {props.choices.map(choice => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      </label>
      <label>
        <input
          type="checkbox"
          checked={hasLabels}
          onChange={event => props.onLabels(event.currentTarget.checked)}
        />{' '}
        {trans.__('Shapes')}
      </label>
      {controls && (
        <label
          title={trans.__('Dotted lines lead to operations that only wait for others')}
        >
          <input
            type="checkbox"
            checked={controls.has}
            onChange={event => controls.onControls(event.currentTarget.checked)}
          />{' '}
          {trans.__('Order')}
        </label>
      )}
      <span class="nbfn-Graph-steps nbfn-mod-last">
        <Press
          label={trans.__('Smaller')}
          text="−"
          onPress={() => props.onZoom(1 / 1.3)}
        />
        <Press label={trans.__('Larger')} text="+" onPress={() => props.onZoom(1.3)} />
        <Press
          label={trans.__('Show all')}
          text={trans.__('Fit')}
          onPress={props.onFit}
        />
        {props.onWhole && (
          <Press
            label={trans.__('Full screen')}
            text={<Corners />}
            onPress={props.onWhole}
          />
        )}
      </span>
    </div>
  );
}

function Corners(): VNode {
  return (
    <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      <path d="M1 4V1h3M8 1h3v3M11 8v3H8M4 11H1V8" fill="none" stroke="currentColor" />
    </svg>
  );
}

function Press(props: {
  label: string;
  text: ComponentChildren;
  onPress: () => void;
}): VNode {
  return (
    <button
      type="button"
      class="nbfn-Button nbfn-Graph-press"
      title={props.label}
      aria-label={props.label}
      onClick={props.onPress}
    >
      {props.text}
    </button>
  );
}
