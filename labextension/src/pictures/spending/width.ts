import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The assumed width before an element has been laid out. */
const ASSUMED = 400;

/** The current width of an element in pixels. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(ASSUMED);
  useLayoutEffect(() => {
    const { current } = element;
    if (!current) {
      return undefined;
    }
    const measure = (): void => {
      if (current.clientWidth > 0) {
        setWidth(current.clientWidth);
      }
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
