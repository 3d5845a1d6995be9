import type { Host } from '../views';

/** JupyterLab as a host of views. */
export const HOST: Host = {
  loadPictures: () => import('../pictures'),
  hasCells: true
};
