import type { WorldOptions } from '../world/world.ts';

/**
 * Kinds of histories of a fleet.
 * - `sick`: machines are marked as Failed during rollouts, several at the same time.
 * - `in-place`: in-place updates, which mcm orchestrates for even seeds and the user for odd seeds.
 * - `pauses`: the user pauses rollouts, and also scales for odd seeds.
 * - `windows`: rollouts act for one minute in five, and users mark machines as Failed. Nodes postpone for a while.
 * - `interruptions`: the cloud announces the end of VMs, in any order, repeated and late, and also harmless and false notices.
 * - `capacity`: zones of the cloud have no capacity for a while, and the classes have alternatives.
 * - `warm`: the deployment keeps warm machines, whose number changes, and the cloud refuses to start them for a while.
 * - `zones`: the deployment has three zones. Users evacuate and return them, and all machines of a zone become unreachable for hours.
 * - `leases`: two processes of each controller compete for a Lease, and the leaders are frozen and continue later.
 * - `large`: five deployments of three classes, with up to 50 machines. In two of five histories each has a machine config pool.
 * - `crds`: CRDs get and lose a version, and the CRD of the deployments is deleted and created again.
 * - `disks`: the local cloud and the control plane store their data in files. The cloud is often killed, and its last write is incomplete.
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
  'leases',
  'large',
  'crds',
  'disks',
] as const;
export type FleetMode = (typeof FLEET_MODES)[number];

type Strategy = Pick<WorldOptions, 'inPlace' | 'maxSurge' | 'maxUnavailable' | 'maxUnhealthyReplacements'>;

const hasInPlace = (mode: FleetMode | 'scaler', seed: number): boolean =>
  mode === 'in-place' || (mode === 'pauses' && seed % 5 >= 3);

/** Whether users neither mark machines as Failed nor pause rollouts in histories of this mode. */
export const isPlainMode = (mode: FleetMode): boolean =>
  ['rolls', 'leases', 'crds', 'disks', 'interruptions', 'capacity', 'warm', 'zones'].includes(mode);

/** Whether each deployment has a machine config pool. Such histories take four times as long as others. */
export const hasPools = (mode: FleetMode, seed: number): boolean => mode === 'large' && seed % 5 < 2;

/** The rollout strategy of a history. */
export function strategyOf(mode: FleetMode | 'scaler', seed: number): Strategy {
  const surge = seed % 3;
  const isPlain = mode !== 'scaler' && isPlainMode(mode);
  const limits = { maxSurge: surge, maxUnavailable: surge === 0 ? 1 + (isPlain ? 0 : seed % 2) : seed % 2 };
  // In every fourth history, several failed machines may be replaced at the same time.
  const several = { maxUnhealthyReplacements: !isPlain && seed % 4 === 3 ? 2 : 1 };
  if (!hasInPlace(mode, seed)) return { ...limits, ...several };
  const inPlace = seed % 2 === 0 ? 'Auto' : 'Manual';
  return { inPlace, maxSurge: surge % 2, maxUnavailable: 1 + (Math.floor(seed / 2) % 2), ...several };
}
