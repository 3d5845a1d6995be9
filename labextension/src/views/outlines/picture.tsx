import type { ComponentChildren, VNode } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { PictureData, PictureName, Pictures } from '../../pictures';

/** How a host loads the bundle of the pictures. */
export type LoadPictures = () => Promise<Pictures>;

/** Loads the pictures; a host that has none shows the given text instead. */
export const PicturesContext = createContext<LoadPictures>(() =>
  Promise.reject(new Error('This host has no pictures.'))
);

/** Properties of a picture. */
interface PictureProps<Name extends PictureName> {
  name: Name;
  data: PictureData[Name];
  /** What is shown until the picture is there, and where it cannot be loaded. */
  children?: ComponentChildren;
}

/** A picture, drawn by the bundle that is loaded for the first of them. */
export function Picture<Name extends PictureName>(props: PictureProps<Name>): VNode {
  const element = useRef<HTMLDivElement>(null);
  const load = useContext(PicturesContext);
  const [pictures, setPictures] = useState<Pictures | null>(null);
  useEffect(() => {
    let wanted = true;
    load().then(
      loaded => {
        if (wanted) {
          setPictures(loaded);
        }
      },
      (error: unknown) => console.warn('nbfn could not load its pictures:', error)
    );
    return () => {
      wanted = false;
    };
  }, [load]);
  useEffect(() => {
    if (pictures && element.current) {
      pictures.draw(element.current, props.name, props.data);
    }
  }, [pictures, props.name, props.data]);
  useEffect(() => {
    const drawn = element.current;
    return () => {
      if (drawn) {
        pictures?.clear(drawn);
      }
    };
  }, [pictures]);
  return (
    <div class="nbfn-Picture">
      {!pictures && props.children}
      <div ref={element} />
    </div>
  );
}
