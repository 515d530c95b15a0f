import { type Counts, onceEach, sumOf } from '../common/counts.ts';
import type { Checked } from './take-over.ts';

/** Returns what the rules excuse in a check. */
export function excusedIn({ use = '', used, unseen = 0 }: Checked): Counts {
  const rules = [...used].map(({ row, what }) => `${use} checks with the rule "${row}: ${what}"`);
  return sumOf([
    onceEach([`${use} checks`, ...rules]),
    unseen > 0 ? { 'steps of mcm between two recorded states, which the recording does not show': unseen } : undefined,
  ]);
}
