import type { Case } from './suites.ts';

/** `MCM_SEEDS=1000` plays so many of each suite; `pnpm simulate` plays any. */
const { MCM_SEEDS } = process.env;

/** The cases of a suite that tests play: the first seeds, and some by name. */
export function seedsOf(suite: string, count: number, more: readonly number[] = []): readonly Case[] {
  const first = Array.from({ length: Number(MCM_SEEDS ?? count) }, (_, index) => index + 1);
  return [...new Set([...first, ...more])].map((seed) => ({ suite, seed }));
}

/** The command that plays a case again. */
export const again = ({ suite, seed }: Case): string =>
  `pnpm simulate --suite ${suite} --seeds ${seed} plays this again`;
