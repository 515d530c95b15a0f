/** The parser of flags loads no client, because programs that only print their version import this file. */
export { nearest } from '../base/nearest.ts';
export { refusalOf, reportRefusals } from './refusal.ts';
