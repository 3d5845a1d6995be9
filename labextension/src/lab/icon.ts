import { LabIcon } from '@jupyterlab/ui-components';

/** The icon of nbfn: an f between brackets. */
export const nbfnIcon = new LabIcon({
  name: 'nbfn:icon',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M3 3h5v2H5v14h3v2H3zM21 3h-5v2h3v14h-3v2h5z"/>
    <path d="M14.9 7c-2 0-3.1 1.1-3.4 3l-.1.8H9.6v1.7h1.5l-.7 3.8c-.1.7-.4 1-1 1-.2 0-.5 0-.7-.1l-.3 1.5c.4.2 1 .3 1.5.3 1.5 0 2.4-.9 2.7-2.6l.7-3.9h2v-1.7h-1.7l.1-.7c.1-.9.6-1.3 1.3-1.3.3 0 .6 0 .9.1l.3-1.6c-.4-.2-.9-.3-1.3-.3z"/>
  </g>
</svg>`
});
