/** For tests of what is built on this package. */

export { type Malformation, malformations, sampleOf } from './malformed.ts';
