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
  Snapshot
} from './protocol';
import type { ViewChoice } from './views';
import { mount } from './views';

/** What the Python widget synchronises. */
interface Traits {
  view: 'function' | 'cell' | 'session' | 'graph' | 'page';
  /** Id of the function or cell that is shown. */
  target: string | null;
  snapshot: Snapshot;
  /** Whether there is no kernel behind it: it is in a report. */
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
    presence: model.get('kept') ? 'gone' : 'live',
    requestSnapshot: () => ask({ type: 'request_snapshot' }),
    look: targets => ask({ type: 'look', targets })
  });
  const receive = (): void => {
    const snapshot: unknown = model.get('snapshot');
    if (isSnapshot(snapshot)) {
      store.receive(snapshot);
    }
  };
  const follow = (message: unknown): void => {
    if (isPictures(message)) {
      take?.(message.source);
      take = null;
    } else if (isMessage(message)) {
      store.receive(message);
    }
  };
  receive();
  // The trait is as old as the model, and a page that is loaded again gets it so.
  ask({ type: 'request_snapshot' });
  const mounted = mount(el, store, choiceOf(model), { loadPictures, hasCells: false });
  const listeners = [
    ['change:snapshot', receive],
    ['msg:custom', follow]
  ] as const;
  listeners.forEach(([name, listener]) => model.on(name, listener));

  const dispose = (): void => {
    listeners.forEach(([name, listener]) => model.off(name, listener));
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

/** What the widget shows, which does not change. */
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

/** The bundle of the pictures, which a widget cannot fetch: it has no address of its own. */
async function imported(source: string): Promise<Pictures> {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  try {
    return (await import(url)) as Pictures;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Patches and outlines come as messages. */
function isMessage(value: unknown): value is Patch | Pages {
  return ['patch', 'pages'].includes(field(value, 'type') as string);
}

function isPictures(value: unknown): value is PicturesMessage {
  return field(value, 'type') === 'pictures';
}

/** The trait is an empty dict until the kernel fills it. */
function isSnapshot(value: unknown): value is Snapshot {
  return field(value, 'type') === 'snapshot';
}

export default { render };
