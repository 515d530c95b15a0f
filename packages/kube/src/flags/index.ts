/**
 * This entry loads only the parser of flags, and no client. Programs that only print their version import this entry.
 */
export { nearest } from '../base/nearest.ts';
export { refusalOf, reportRefusals } from './refusal.ts';
