export type { Failure, InstanceEvidence } from './bundle.ts';
export { type KeptVm, type KeptVmOptions, readKeptVms } from './kept-vms.ts';
export { type KeptEvidence, readEvidence } from './read.ts';
export { type Known, scrub } from './scrub.ts';
export { wholeLines } from './whole-lines.ts';
