import type { WorldOptions } from '../world/world.ts';

/**
 * Kinds of histories of a fleet. `sick`: machines are marked as Failed in the middle of rolls, several at once.
 * `in-place`: updates in place, which mcm orchestrates for even seeds and the user for odd seeds. `pauses`: the user
 * pauses rollouts in their middle, and scales meanwhile for odd seeds. `leases`: two of each controller compete for a
 * Lease, and those that lead are frozen and come back. `large`: five deployments of three classes, with up to 50 machines.
 */
export const FLEET_MODES = ['rolls', 'sick', 'in-place', 'pauses', 'leases', 'large'] as const;
export type FleetMode = (typeof FLEET_MODES)[number];

type Strategy = Pick<WorldOptions, 'inPlace' | 'maxSurge' | 'maxUnavailable' | 'maxUnhealthyReplacements'>;

const hasInPlace = (mode: FleetMode | 'scaler', seed: number): boolean =>
  mode === 'in-place' || (mode === 'pauses' && seed % 5 >= 3);

/** How the deployment of a history is rolled out. */
export function strategyOf(mode: FleetMode | 'scaler', seed: number): Strategy {
  const surge = seed % 3;
  const isPlain = mode === 'rolls' || mode === 'leases';
  const limits = { maxSurge: surge, maxUnavailable: surge === 0 ? 1 + (isPlain ? 0 : seed % 2) : seed % 2 };
  // Every fourth history lets several failed machines be replaced at once.
  const several = { maxUnhealthyReplacements: !isPlain && seed % 4 === 3 ? 2 : 1 };
  if (!hasInPlace(mode, seed)) return { ...limits, ...several };
  const inPlace = seed % 2 === 0 ? 'Auto' : 'Manual';
  return { inPlace, maxSurge: surge % 2, maxUnavailable: 1 + (Math.floor(seed / 2) % 2), ...several };
}
