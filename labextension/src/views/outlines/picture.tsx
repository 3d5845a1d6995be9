import type { ComponentChildren, VNode } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { PictureData, PictureName, Pictures } from '../../pictures';

/** Loads the bundle of the pictures. */
export type LoadPictures = () => Promise<Pictures>;

/** The host's function that loads the pictures; without one, the given text is shown. */
export const PicturesContext = createContext<LoadPictures>(() =>
  Promise.reject(new Error('This host has no pictures.'))
);

/** Properties of a picture. */
interface PictureProps<Name extends PictureName> {
  name: Name;
  data: PictureData[Name];
  /** The content until the picture is loaded, or if it cannot be. */
  children?: ComponentChildren;
}

/** A picture, drawn by a bundle that is loaded with the first one. */
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
