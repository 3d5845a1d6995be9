import type { VNode } from 'preact';
import type { GraphRecord } from '../../protocol';
import { RemedyButton } from '../../views/parts/remedyButton';
import { seen } from '../../views/parts/texts';
import { trans } from '../../words';
import type { ColourBy, Legend } from './model/colours';
import type { Mark } from './model/operations';
import { SIGNS } from './canvas/shapes';

/** The legend of the colours and the downloads, below the picture. */
export function Footer(props: {
  record: GraphRecord;
  colourBy: ColourBy;
  legend: Legend;
  isLive: boolean;
  onSave: () => void;
}): VNode {
  const { record, colourBy, legend, isLive, onSave } = props;
  const { save } = record;
  return (
    <div class="nbfn-Graph-footer">
      <ul class="nbfn-Graph-legend" aria-label={trans.__('Colours')}>
        {colourBy === 'difference'
          ? marksOf(record).map(({ mark, text }) => (
              <li key={mark}>
                <span class={`nbfn-Graph-key nbfn-mod-${mark}`}>{SIGNS[mark]}</span>
                {seen(text)}
              </li>
            ))
          : legend.values.map((value, index) => (
              <li key={value}>
                <span
                  class={`nbfn-Graph-key nbfn-mod-${legend.by === 'time' ? 'heat' : 'colour'}${index}`}
                />
                {seen(value)}
              </li>
            ))}
      </ul>
      <span class="nbfn-Graph-saving">
        <button
          type="button"
          class="nbfn-Button"
          title={trans.__('Download the visible part as an SVG file')}
          onClick={onSave}
        >
          {trans.__('Save SVG')}
        </button>
        {isLive && save != null && (
          <>
            {FILES.map(([sentence, ending]) => (
              <RemedyButton
                key={ending}
                remedy={{ sentence, code: `${save} ${fileName(record)}.${ending}` }}
              />
            ))}
          </>
        )}
      </span>
    </div>
  );
}

const FILES = [
  ['GraphDef', 'pbtxt'],
  ['Model Explorer', 'json']
] as const;

/** A name for files of a graph, such as `step-trace-1`. */
export function fileName({ title }: GraphRecord): string {
  const words = title.replace(/\(.*/s, '').match(/[A-Za-z0-9_]+/g);
  return words?.join('-') ?? 'graph';
}

function marksOf(record: GraphRecord): { mark: Mark; text: string }[] {
  const [first, second] = record.sides ?? ['', ''];
  return [
    { mark: 'removed', text: trans.__('only in %1', first ?? '') },
    { mark: 'added', text: trans.__('only in %1', second ?? '') },
    { mark: 'changed', text: 'differs' }
  ];
}
