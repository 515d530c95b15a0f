import type { WorldOptions } from '../world/world.ts';

/**
 * Kinds of histories of a fleet.
 * - `sick`: several machines are marked as Failed at the same time, during rollouts.
 * - `in-place`: in-place updates.
 * - `pauses`: the user pauses rollouts.
 * - `windows`: rollouts continue only for one minute in five, and users mark machines as Failed.
 * - `interruptions`: the cloud announces the end of VMs.
 * - `capacity`: zones of the cloud temporarily have no capacity, and the classes have alternatives.
 * - `warm`: the deployment keeps warm machines, whose number changes, and the cloud temporarily refuses to start them.
 * - `zones`: the deployment has three zones.
 * - `hooks`: machines wait for hooks in all stages.
 * - `canary`: the pods of canaries are sometimes not Ready.
 * - `buffers`: the number of warm machines follows a CapacityBuffer, which users change, delete and create.
 * - `reports`: like `sick`, and the manager writes the disruptions to a ConfigMap, which other clients change and
 *   delete.
 * - `budgets`: the cloud throttles calls, and asks for a time to wait.
 * - `journal`: both controllers keep a small journal. Classes and errors of the cloud contain secrets.
 * - `leases`: two processes of each controller compete for a Lease, and the leaders are frozen and continue later.
 * - `large`: five deployments of three classes, with up to 50 machines.
 * - `crds`: the simulation adds and removes versions of CRDs, and deletes and creates the CRD of the deployments.
 * - `disks`: the local cloud and the control plane store their data in files.
 * - `restores`: the cluster is restored to older backups during rollouts and scalings.
 */
export const FLEET_MODES = [
  'rolls',
  'sick',
  'in-place',
  'pauses',
  'windows',
  'interruptions',
  'capacity',
  'warm',
  'zones',
  'hooks',
  'canary',
  'buffers',
  'reports',
  'budgets',
  'journal',
  'leases',
  'large',
  'crds',
  'disks',
  'restores',
] as const;
export type FleetMode = (typeof FLEET_MODES)[number];

type Strategy = Pick<WorldOptions, 'inPlace' | 'maxSurge' | 'maxUnavailable' | 'maxUnhealthyReplacements'>;

const hasInPlace = (mode: FleetMode | 'scaler', seed: number): boolean =>
  mode === 'in-place' || (mode === 'pauses' && seed % 5 >= 3);

const PLAIN_MODES: ReadonlySet<FleetMode> = new Set([
  ...(['rolls', 'leases', 'crds', 'disks', 'restores', 'interruptions'] as const),
  ...(['capacity', 'warm', 'zones', 'hooks', 'canary', 'buffers', 'budgets', 'journal'] as const),
]);

/** Returns false if users mark machines as Failed or pause rollouts in this mode. */
export const isPlainMode = (mode: FleetMode): boolean => PLAIN_MODES.has(mode);

/** Returns true if the API server compacts its history while connections are broken. */
export const compactsHistory = (seed: number): boolean => seed % 3 !== 0;

export const hasPools = (mode: FleetMode, seed: number): boolean => mode === 'large' && seed % 5 < 2;

export function strategyOf(mode: FleetMode | 'scaler', seed: number): Strategy {
  const surge = seed % 3;
  const isPlain = mode !== 'scaler' && isPlainMode(mode);
  const more = isPlain ? Number(mode === 'zones' && seed % 4 === 3) : seed % 2;
  const limits = { maxSurge: surge, maxUnavailable: surge === 0 ? 1 + more : seed % 2 };
  // In every fourth history of such a mode, mcm may replace two failed machines at the same time.
  const several = { maxUnhealthyReplacements: !isPlain && seed % 4 === 3 ? 2 : 1 };
  if (!hasInPlace(mode, seed)) return { ...limits, ...several };
  const inPlace = seed % 2 === 0 ? 'Auto' : 'Manual';
  return { inPlace, maxSurge: surge % 2, maxUnavailable: 1 + (Math.floor(seed / 2) % 2), ...several };
}
