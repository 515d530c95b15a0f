/** What command lines are told with, and nothing else of the package: a program that only prints its version loads no client. */
export { nearest } from '../base/nearest.ts';
export { refusalOf, tellRefusals } from './refusal.ts';
