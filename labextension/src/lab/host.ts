import type { Host } from '../views';

/** What JupyterLab has for views. */
export const HOST: Host = {
  loadPictures: () => import('../pictures'),
  hasCells: true
};
