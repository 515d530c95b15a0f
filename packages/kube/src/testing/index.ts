/** For tests of packages that use this one. */

export { watchBoundWrites } from './bound-writes.ts';
export { type Malformation, malformations, sampleOf } from './malformed.ts';
export { isThorough, sampled, thoroughly } from './thorough.ts';
