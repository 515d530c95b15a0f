import type { WorldOptions } from './world.ts';

/** Seeds from here on tell of machines that are marked as Failed in the middle of rolls, several at once. */
export const SICK_SEEDS = 10_000;

/** Seeds from here on tell of updates in place: orchestrated by mcm the even ones, by hand the odd ones. */
export const IN_PLACE_SEEDS = 20_000;

/** Seeds from here on tell of rollouts that the user pauses in their middle, the odd ones of scaling meanwhile, too. */
export const PAUSE_SEEDS = 30_000;

/** Seeds from here on tell of a cluster autoscaler that names machines, in each of the forms that its releases write. */
export const SCALER_SEEDS = 40_000;

/** How the deployment of a seed is rolled out. */
export function strategyOf(
  seed: number,
): Pick<WorldOptions, 'inPlace' | 'maxSurge' | 'maxUnavailable' | 'maxUnhealthyReplacements'> {
  const surge = seed % 3;
  const limits = { maxSurge: surge, maxUnavailable: surge === 0 ? 1 + (seed >= SICK_SEEDS ? seed % 2 : 0) : seed % 2 };
  // Every fourth history of the later ones lets several failed machines be replaced at once.
  const several = { maxUnhealthyReplacements: seed >= SICK_SEEDS && seed % 4 === 3 ? 2 : 1 };
  if (seed < IN_PLACE_SEEDS || seed >= SCALER_SEEDS || (seed >= PAUSE_SEEDS && seed % 5 < 3))
    return { ...limits, ...several };
  const inPlace = seed % 2 === 0 ? 'Auto' : 'Manual';
  return { inPlace, maxSurge: surge % 2, maxUnavailable: 1 + (Math.floor(seed / 2) % 2), ...several };
}
