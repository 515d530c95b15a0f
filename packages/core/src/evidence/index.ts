export type { Failure } from './bundle.ts';
export { type KeptEvidence, readEvidence } from './read.ts';
export { type Known, scrub } from './scrub.ts';
