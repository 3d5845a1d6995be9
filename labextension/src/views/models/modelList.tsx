import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { KernelState } from '../../feed/store';
import type { ModelRecord } from '../../protocol';
import { trans } from '../../words';
import { counts } from '../parts/format';
import { Limited } from '../parts/limited';
import { Section } from '../parts/section';
import { seen } from '../parts/texts';
import { Question } from '../lists/question';
import { ModelTree } from './modelTree';

/** The models that the notebook names, each as a tree that opens. */
export function ModelList({ state }: { state: KernelState }): VNode {
  const models = useMemo(() => [...state.models.values()], [state.models]);
  return (
    <Limited items={models} step={20}>
      {visible => visible.map(one => <ModelItem key={one.id} model={one} />)}
    </Limited>
  );
}

function ModelItem({ model }: { model: ModelRecord }): VNode {
  const [whole] = model.rows;
  const parameters = whole?.parameters
    ? counts.parameters(whole.parameters)
    : trans.__('no variables yet');
  return (
    <Section
      class="nbfn-Row"
      title={<code class="nbfn-Row-name">{seen(model.id)}</code>}
      note={`${seen(model.label)}, ${parameters}`}
    >
      {() => (
        <>
          <ModelTree model={model} />
          {whole?.parameters ? (
            <Question
              code={`nbfn.session().tabulate(${JSON.stringify(model.id)})`}
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
  );
}
