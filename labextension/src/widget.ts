import type { Render } from '@anywidget/types';
import { Store } from './feed/store';
import type { Snapshot } from './protocol';
import type { ViewChoice } from './views';
import { mount } from './views';

/** What the Python widget synchronises. */
interface Traits {
  view: 'function' | 'cell' | 'session';
  /** Id of the function or cell that is shown. */
  target: string | null;
  snapshot: Snapshot;
}

/** Shows the widget's view until the host aborts the signal or calls the returned function. */
const render: Render<Traits> = ({ model, el, signal }) => {
  const store = new Store();
  const choice = (): ViewChoice => {
    const view = model.get('view');
    return view === 'session' ? { view } : { view, target: model.get('target') };
  };
  const receive = (): void => {
    const snapshot: unknown = model.get('snapshot');
    if (isSnapshot(snapshot)) {
      store.receive(snapshot);
    }
  };
  receive();
  const mounted = mount(el, store, choice());
  const choose = (): void => mounted.choose(choice());
  model.on('change:snapshot', receive);
  model.on('change:view', choose);
  model.on('change:target', choose);

  const dispose = (): void => {
    model.off('change:snapshot', receive);
    model.off('change:view', choose);
    model.off('change:target', choose);
    mounted.dispose();
  };
  // Hosts before anywidget 0.11 pass no signal: they call what is returned.
  const ends = signal as AbortSignal | undefined;
  if (!ends) {
    return dispose;
  }
  ends.addEventListener('abort', dispose, { once: true });
  return undefined;
};

/** The trait is an empty dict until the kernel fills it. */
function isSnapshot(value: unknown): value is Snapshot {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'snapshot'
  );
}

export default { render };
