export { INSERT_CELL, REVEAL_CELL } from './actions';
export type { InsertCell, RevealCell } from './actions';
export { mount } from './mount';
export type { Mounted, ViewChoice } from './mount';
