/** Loads only the parser of flags, and no client, for programs that only print their version. */
export { nearest } from '../base/nearest.ts';
export { refusalOf, reportRefusals } from './refusal.ts';
