import { act } from 'preact/test-utils';
import { vi } from 'vitest';
import type { StoreOptions } from '../src/feed/store';
import { Store } from '../src/feed/store';
import type { SnapshotMessage, Rows } from '../src/protocol';
import type { ViewChoice } from '../src/views';
import { mount } from '../src/views';
import { snapshot } from './records';

/** A view on the page, with the store behind it. */
export function page(
  first: SnapshotMessage,
  choice: ViewChoice,
  options: StoreOptions = {}
) {
  const store = new Store(options);
  store.receive(first);
  const element = document.createElement('div');
  document.body.replaceChildren(element);
  let mounted: ReturnType<typeof mount> | undefined;
  void act(() => {
    mounted = mount(element, store, choice, {
      loadPictures: () => import('../src/pictures'),
      hasCells: true
    });
  });
  if (!mounted) throw new Error('not mounted');
  return { store, element, mounted };
}

/** A session's view of a state, with the store behind it. */
export function sessionPage(
  state: Rows,
  values: Partial<SnapshotMessage> = {},
  options: StoreOptions = {}
) {
  return page(snapshot(state, values), { view: 'session' }, options);
}

/** The one element that fits the selector. */
export function one(root: ParentNode, selector: string): HTMLElement {
  const all = root.querySelectorAll<HTMLElement>(selector);
  if (all.length !== 1 || !all[0]) {
    throw new Error(`${all.length} elements fit ${selector}`);
  }
  return all[0];
}

/** The one button with this text. */
export function button(root: ParentNode, text: string): HTMLElement {
  const fitting = [...root.querySelectorAll('button')].filter(
    candidate => candidate.textContent.trim() === text
  );
  if (fitting.length !== 1 || !fitting[0]) {
    throw new Error(`${fitting.length} buttons say ${text}`);
  }
  return fitting[0];
}

/** The one element that fits the selector, once it is there; pictures are loaded first. */
export async function appears(
  root: ParentNode,
  selector: string
): Promise<HTMLElement> {
  return await vi.waitFor(() => one(root, selector), { timeout: 20_000 });
}

/** What events of a name asked for, while something was done; they are acted upon. */
export async function asked<T>(name: string, act: () => Promise<void>): Promise<T[]> {
  const seen: T[] = [];
  const listen = (event: Event) => {
    event.preventDefault();
    seen.push((event as CustomEvent<T>).detail);
  };
  document.addEventListener(name, listen);
  await act();
  document.removeEventListener(name, listen);
  return seen;
}

/** The text of an element with single spaces, as it is read. */
export function words(element: Element): string {
  return element.textContent.replace(/\s+/g, ' ').trim();
}

/** Presses a button, and lets the view react. */
export async function press(target: HTMLElement): Promise<void> {
  await act(async () => {
    target.click();
    await new Promise(resolve => setTimeout(resolve));
  });
}

/** Opens a details element. */
export async function open(details: HTMLElement): Promise<void> {
  await act(async () => {
    (details as HTMLDetailsElement).open = true;
    details.dispatchEvent(new Event('toggle'));
    await new Promise(resolve => setTimeout(resolve));
  });
}

/** Types into a field. */
export async function type(field: HTMLElement, text: string): Promise<void> {
  await act(async () => {
    (field as HTMLInputElement).value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise(resolve => setTimeout(resolve));
  });
}

/** Waits until what was received is drawn. */
export async function drawn(): Promise<void> {
  await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
}

/** The section with this title. */
export function section(element: HTMLElement, title: string): HTMLElement {
  const fitting = [...element.querySelectorAll<HTMLElement>('.nbfn-Section')].find(
    candidate => words(one(candidate, '.nbfn-Section-title')) === title
  );
  if (!fitting) throw new Error(`no section ${title}`);
  return fitting;
}

/** Its rows. */
export function rows(element: HTMLElement): HTMLElement[] {
  return [...element.querySelectorAll<HTMLElement>('.nbfn-Row')];
}

/** The section with this title, opened. */
export async function opened(
  element: HTMLElement,
  title: string
): Promise<HTMLElement> {
  const found = section(element, title);
  await open(found);
  return found;
}
