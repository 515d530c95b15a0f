/** Exports only what is needed to read command lines, so that a program that prints its version does not load a client. */
export { nearest } from '../base/nearest.ts';
export { refusalOf, reportRefusals } from './refusal.ts';
