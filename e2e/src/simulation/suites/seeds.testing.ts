import { isThorough, thoroughly } from '@mcm/kube/testing';
import type { Case } from './suites.ts';

/** `MCM_SEEDS=1000` runs 1000 histories of each suite. `pnpm simulate` runs any seed. */
const { MCM_SEEDS } = process.env;
const THOROUGH_FACTOR = 6;
const ALL_FACTOR = 3;

/** Returns the cases of a suite in tests: the seeds up to `count`, and selected seeds. */
export function seedsOf(suite: string, count: number, more: readonly number[] = []): readonly Case[] {
  const first = Array.from(
    { length: Number(MCM_SEEDS ?? thoroughly(count, Math.ceil(count / THOROUGH_FACTOR), count * ALL_FACTOR)) },
    (_, index) => index + 1,
  );
  return [...new Set([...first, ...(isThorough ? more : [])])].map((seed) => ({ suite, seed }));
}

export const again = ({ suite, seed, profile = 'none' }: Case): string =>
  `pnpm simulate --suite ${suite} --profile ${profile} --seeds ${seed} repeats this`;
