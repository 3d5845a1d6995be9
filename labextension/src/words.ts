/** The interface of JupyterLab's translation bundles; %1 and %2 are the values. */
interface Translator {
  __(text: string, ...values: (string | number)[]): string;
  /** The singular or plural form for a number, which is %1. */
  _n(one: string, many: string, n: number, ...values: (string | number)[]): string;
}

/** The English texts, for hosts without a translator. */
export const ENGLISH: Translator = {
  __: filled,
  _n: (one, many, n, ...values) => filled(n === 1 ? one : many, n, ...values)
};

/** The current translator of the views. */
export let trans: Translator = ENGLISH;

/** Sets the translator, from the next drawing on. */
export function translateWith(translator: Translator): void {
  trans = translator;
}

function filled(text: string, ...values: (string | number)[]): string {
  return text.replace(/%(\d+)/g, (sign, number: string) =>
    String(values[Number(number) - 1] ?? sign)
  );
}
