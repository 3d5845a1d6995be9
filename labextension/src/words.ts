/** What translates, as JupyterLab's bundles do; %1, %2 are the values. */
interface Translator {
  __(text: string, ...values: (string | number)[]): string;
  /** The form for a number, which is %1. */
  _n(one: string, many: string, n: number, ...values: (string | number)[]): string;
}

/** The texts as they are written, for hosts that have no translator. */
export const ENGLISH: Translator = {
  __: filled,
  _n: (one, many, n, ...values) => filled(n === 1 ? one : many, n, ...values)
};

/** Translates what the views say. */
export let trans: Translator = ENGLISH;

/** Has the views speak another language from their next drawing on. */
export function translateWith(translator: Translator): void {
  trans = translator;
}

function filled(text: string, ...values: (string | number)[]): string {
  return text.replace(/%(\d+)/g, (sign, number: string) =>
    String(values[Number(number) - 1] ?? sign)
  );
}
