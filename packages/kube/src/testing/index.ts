export { watchBoundWrites } from './bound-writes.ts';
export { type FleetTestOptions, type PlayedFleet, runFleet } from './fleet.ts';
export { type Malformation, malformations, sampleOf } from './malformed.ts';
export { partial } from './partial.ts';
export { runSingle, type SingleTestOptions } from './single.ts';
export { isThorough, sampled, thoroughly } from './thorough.ts';
