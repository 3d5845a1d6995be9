import type { Font, Measure } from '../model/sizes';
import { FONTS } from '../model/sizes';

/** Approximate width of a letter relative to its height, where text cannot be measured. */
const LETTER = 0.58;

/** Measures texts in the fonts of an element. */
export function measureIn(element: Element): Measure {
  const family = getComputedStyle(element).fontFamily || 'sans-serif';
  const context = document.createElement('canvas').getContext('2d');
  const known = new Map<string, number>();
  return (text, font) => {
    const key = `${font} ${text}`;
    let width = known.get(key);
    if (width === undefined) {
      width = text.length * FONTS[font] * LETTER;
      if (context) {
        context.font = `${weightOf(font)} ${FONTS[font]}px ${family}`;
        width = context.measureText(text).width;
      }
      known.set(key, width);
    }
    return width;
  };
}

function weightOf(font: Font): number {
  return font === 'title' ? 600 : 400;
}
