import type { ComponentType } from 'preact';
import { h, render } from 'preact';
import type { DiagramProps } from './diagram/diagram';
import { DiagramPicture } from './diagram/diagram';
import type { GraphPictureProps } from './graph/graphPicture';
import { GraphPicture } from './graph/graphPicture';
import type { TimelineData } from './timeline/blocks';
import { TimelinePicture } from './timeline/timeline';

/** The data of each picture, by the picture's name. */
export interface PictureData {
  diagram: DiagramProps;
  graph: GraphPictureProps;
  timeline: TimelineData;
}

/** The name of a picture. */
export type PictureName = keyof PictureData;

/** The pictures, a separate bundle that is loaded with the first picture. */
export interface Pictures {
  /** Draws a picture in an element, or draws it again with newer data. */
  draw<Name extends PictureName>(
    element: HTMLElement,
    name: Name,
    data: PictureData[Name]
  ): void;
  /** Removes a picture from the page. */
  clear(element: HTMLElement): void;
}

const components: { [Name in PictureName]: ComponentType<PictureData[Name]> } = {
  diagram: DiagramPicture,
  graph: GraphPicture,
  timeline: TimelinePicture
};

export const { draw, clear }: Pictures = {
  draw(element, name, data) {
    render(h(components[name], data), element);
  },
  clear(element) {
    render(null, element);
  }
};
