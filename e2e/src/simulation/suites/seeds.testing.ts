import { thoroughly } from '@mcm/kube/testing';
import type { Case } from './suites.ts';

/** `MCM_SEEDS=1000` runs this number of histories of each suite. `pnpm simulate` runs any seed. */
const { MCM_SEEDS } = process.env;
/** A thorough run plays this many times the histories of a plain run. */
const THOROUGH_FACTOR = 5;
/** A run of all cases plays this many times the histories of `.ci/run`. */
const ALL_FACTOR = 3;

/**
 * The cases of a suite in tests: the seeds up to `count`, and selected seeds. A plain run plays a fifth of the seeds.
 */
export function seedsOf(suite: string, count: number, more: readonly number[] = []): readonly Case[] {
  const first = Array.from(
    { length: Number(MCM_SEEDS ?? thoroughly(count, Math.ceil(count / THOROUGH_FACTOR), count * ALL_FACTOR)) },
    (_, index) => index + 1,
  );
  return [...new Set([...first, ...more])].map((seed) => ({ suite, seed }));
}

export const again = ({ suite, seed }: Case): string => `pnpm simulate --suite ${suite} --seeds ${seed} repeats this`;
