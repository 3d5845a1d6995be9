import type { AnyModel, Render } from '@anywidget/types';
import { field } from './feed/messages';
import { Store } from './feed/store';
import type { Pictures } from './pictures';
import type {
  Pictures as PicturesMessage,
  GraphRecord,
  Messages,
  Page,
  Pages,
  Patch,
  SnapshotMessage
} from './protocol';
import type { ViewChoice } from './views';
import { mount } from './views';

/** The traits that the Python widget synchronises. */
interface Traits {
  view: 'function' | 'cell' | 'session' | 'graph' | 'page';
  /** Id of the function or cell that is shown. */
  target: string | null;
  snapshot: SnapshotMessage;
  /** Whether it has no kernel, as in a report. */
  kept?: boolean;
  graph: GraphRecord;
  /** The page that the graph belongs to. */
  page: Page | null;
}

/** Shows the widget's view until the host aborts the signal or calls the returned function. */
const render: Render<Traits> = ({ model, el, signal }) => {
  const ask = (question: Messages['to_kernel']): void => {
    model.send(question);
  };
  let pictures: Promise<Pictures> | null = null;
  let take: ((source: string) => void) | null = null;
  const loadPictures = (): Promise<Pictures> =>
    (pictures ??= new Promise((resolve, reject) => {
      take = source => void imported(source).then(resolve, reject);
      ask({ type: 'request_pictures' });
    }));
  const store = new Store({
    presence: model.get('kept') ? 'ended' : 'live',
    requestSnapshot: () => ask({ type: 'request_snapshot' }),
    setTargets: targets => ask({ type: 'request_outlines', targets })
  });
  const receive = (): void => {
    const snapshot: unknown = model.get('snapshot');
    if (isSnapshot(snapshot)) {
      store.receive(snapshot);
    }
  };
  const receiveCustom = (message: unknown): void => {
    if (isPictures(message)) {
      take?.(message.source);
      take = null;
    } else if (isMessage(message)) {
      store.receive(message);
    }
  };
  receive();
  // A reloaded page gets the trait as it was when the model was created.
  ask({ type: 'request_snapshot' });
  const mounted = mount(el, store, choiceOf(model), { loadPictures, hasCells: false });
  const listeners = [
    ['change:snapshot', receive],
    ['msg:custom', receiveCustom]
  ] as const;
  listeners.forEach(([name, listener]) => model.on(name, listener));

  const dispose = (): void => {
    listeners.forEach(([name, listener]) => model.off(name, listener));
    mounted.dispose();
  };
  // Hosts before anywidget 0.11 pass no signal, and call the returned function.
  const ends = signal as AbortSignal | undefined;
  if (!ends) {
    return dispose;
  }
  ends.addEventListener('abort', dispose, { once: true });
  return undefined;
};

/** The widget's view, which does not change. */
function choiceOf(model: AnyModel<Traits>): ViewChoice {
  const view = model.get('view');
  switch (view) {
    case 'session':
      return { view };
    case 'graph':
      return { view, graph: model.get('graph') };
    case 'page': {
      const [page, graph] = [model.get('page'), model.get('graph')];
      return page ? { view, page, graph } : { view: 'graph', graph };
    }
    default:
      return { view, target: model.get('target') };
  }
}

/** Imports the bundle of the pictures from its source, because a widget has no URL to fetch from. */
async function imported(source: string): Promise<Pictures> {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  try {
    return (await import(url)) as Pictures;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Whether a custom message is a patch or outlines. */
function isMessage(value: unknown): value is Patch | Pages {
  return ['patch', 'pages'].includes(field(value, 'type') as string);
}

function isPictures(value: unknown): value is PicturesMessage {
  return field(value, 'type') === 'pictures';
}

/** Whether the trait is a snapshot: it is an empty dict until the kernel sets it. */
function isSnapshot(value: unknown): value is SnapshotMessage {
  return field(value, 'type') === 'snapshot';
}

export default { render };
