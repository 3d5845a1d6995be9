export { INSERT_CELL, REVEAL_CELL } from './parts/actions';
export type { InsertCell, RevealCell } from './parts/actions';
export { mount } from './mount';
export type { Host, Mounted, ViewChoice } from './mount';
