import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { KernelState } from '../../feed/store';
import { trans } from '../../words';
import { OutlineDetails } from '../outlines/outlineView';
import { counts } from '../parts/format';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';
import { seen } from '../parts/texts';
import { Question } from './question';

/** The models that the notebook names, each with the tree of its parts when it is opened. */
export function ModelList({ state }: { state: KernelState }): VNode {
  const models = useMemo(() => [...state.models.values()], [state.models]);
  return (
    <Limited items={models} step={20}>
      {visible =>
        visible.map(({ id, label, parameters }) => (
          <Section
            key={id}
            class="nbfn-Row"
            title={<code class="nbfn-Row-name">{seen(id)}</code>}
            note={`${seen(label)}, ${
              parameters ? counts.parameters(parameters) : trans.__('no variables yet')
            }`}
          >
            {() => (
              <>
                <OutlineDetails state={state} target={`model/${id}`} />
                {parameters ? (
                  <Question
                    code={`nbfn.session().tabulate(${JSON.stringify(id)})`}
                    title={trans.__(
                      'Run a cell that shows how far each part has changed since the last look'
                    )}
                  >
                    {trans.__('what training has changed')}
                  </Question>
                ) : null}
              </>
            )}
          </Section>
        ))
      }
    </Limited>
  );
}
