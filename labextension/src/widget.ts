import type { Render } from '@anywidget/types';
import { Store } from './feed/store';
import type { Details, Messages, Patch, Snapshot } from './protocol';
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
  const ask = (question: Messages['to_kernel']): void => {
    model.send(question);
  };
  const store = new Store({
    requestSnapshot: () => ask({ type: 'request_snapshot' }),
    requestDetails: id => ask({ type: 'request_details', function: id })
  });
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
  const follow = (message: unknown): void => {
    if (isMessage(message)) {
      store.receive(message);
    }
  };
  receive();
  // The trait is as old as the model, and a page that is loaded again gets it so.
  ask({ type: 'request_snapshot' });
  const mounted = mount(el, store, choice());
  const choose = (): void => mounted.choose(choice());
  model.on('change:snapshot', receive);
  model.on('msg:custom', follow);
  model.on('change:view', choose);
  model.on('change:target', choose);

  const dispose = (): void => {
    model.off('change:snapshot', receive);
    model.off('msg:custom', follow);
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

/** Patches and details come as messages. */
function isMessage(value: unknown): value is Patch | Details {
  const type =
    typeof value === 'object' && value !== null && 'type' in value && value.type;
  return type === 'patch' || type === 'details';
}

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
