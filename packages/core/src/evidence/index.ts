export type { Failure } from '../driver/contract/bundle.ts';
export { type Known, scrub, scrubber } from '../driver/secrets/evidence-text.ts';
export { knownOf } from '../driver/secrets/known.ts';
export { type KeptVm, type KeptVmOptions, readKeptVms } from './kept-vms.ts';
export { type KeptEvidence, readEvidence } from './read.ts';
export { wholeLines } from './whole-lines.ts';
