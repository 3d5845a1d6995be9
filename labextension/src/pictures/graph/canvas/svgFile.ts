import type { Size } from '../model/container';

/** The style properties that are copied into a saved drawing. */
const STYLES = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-linejoin',
  'paint-order',
  'font-family',
  'font-size',
  'font-weight',
  'font-style',
  'opacity'
];

/** A picture as the text of an SVG file that does not depend on the page's styles. */
export function standalone(screen: SVGSVGElement, content: Size): string {
  const copy = screen.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [screen, copy].map(root => [
    ...root.querySelectorAll('*')
  ]);
  originals?.forEach((original, index) => {
    const target = copies?.[index];
    const style = getComputedStyle(original);
    for (const name of STYLES) {
      const value = plain(style.getPropertyValue(name));
      if (value) {
        target?.setAttribute(name, value);
      }
    }
    target?.removeAttribute('class');
    target?.removeAttribute('data-node');
  });
  copy.querySelectorAll('[data-opener]').forEach(opener => opener.remove());
  copy.querySelector(':scope > g')?.removeAttribute('transform');
  const { width, height } = {
    width: Math.ceil(content.width),
    height: Math.ceil(content.height)
  };
  // All of them: the serializer writes the namespace by itself.
  for (const name of copy.getAttributeNames()) {
    copy.removeAttribute(name);
  }
  copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  ground.setAttribute('width', '100%');
  ground.setAttribute('height', '100%');
  ground.setAttribute(
    'fill',
    plain(getComputedStyle(screen).backgroundColor) || 'none'
  );
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

/** Downloads a text as a file. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Later, because a browser may begin to read it after a while.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A colour in a common notation; browsers write mixed ones in one that few programs know. */
export function plain(value: string): string {
  return value.replace(
    /color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)/g,
    (_, ...parts: string[]) => {
      const [red, green, blue] = parts.slice(0, 3).map(part => Math.round(+part * 255));
      const alpha = parts[3] ?? '1';
      return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
    }
  );
}
