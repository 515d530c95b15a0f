/** A program that only prints its version imports this file, and loads no client. */
export { nearest } from '../base/nearest.ts';
export { refusalOf, reportRefusals } from './refusal.ts';
