/** The parser of flags. A program that only prints its version imports this file, which loads no client. */
export { nearest } from '../base/nearest.ts';
export { refusalOf, reportRefusals } from './refusal.ts';
