/** For tests of what is built on this package. */

export { watchBoundWrites } from './bound-writes.ts';
export { type Malformation, malformations, sampleOf } from './malformed.ts';
