import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { countMachines } from '../set/status.ts';
import { type Limits, limitsOf } from './limits.ts';
import { syncedSet } from './new-set.ts';
import { isComplete } from './progress.ts';
import { highestRevision, type Sets, splitSets } from './revisions.ts';
import { careOf, type Gate, gateOf } from './rollout-gate.ts';
import { type SetSize, sizeOf } from './size.ts';
import { type CountedSet, type CountedSets, deploymentStatus } from './status.ts';

/** Everything that the decision about a deployment looks at: one reading of the caches. */
export interface DeploymentSnapshot {
  /** Valid, with a selector that selects something, and not being deleted. */
  readonly deployment: MachineDeployment;
  /** The sets that it controls. */
  readonly sets: readonly MachineSet[];
  /** Machines by the uid of the set that controls them. */
  readonly machines: ReadonlyMap<string, readonly Machine[]>;
  /** Machines of a set, by its uid, that are being made and are not among the machines yet. */
  readonly creating: (setUid: string) => number;
  /** A node of the target cluster, if the cache has it. */
  readonly nodeOf?: (name: string) => Node | undefined;
  readonly now: Date;
}

/** The snapshot, counted and with the current set synced: what the steps decide on. */
export interface View extends DeploymentSnapshot {
  readonly split: Sets;
  readonly counted: CountedSets;
  readonly sizes: { readonly current: SetSize | undefined; readonly old: readonly SetSize[] };
  readonly limits: Limits;
  readonly replicas: number;
  readonly nextRevision: number;
  readonly complete: boolean;
  /** Holds the rollout back; undefined: nothing does. */
  readonly gate: Gate | undefined;
}

/** Counts a snapshot and syncs its current set. */
export function viewOf(snapshot: DeploymentSnapshot): View {
  const { deployment, sets, machines, now } = snapshot;
  const split = splitSets(deployment, sets);
  const nextRevision = highestRevision(split.old) + 1;
  const current = split.current && syncedSet(deployment, split.current, nextRevision);
  const count = (set: MachineSet): CountedSet => ({
    set,
    counts: countMachines(set, machines.get(set.metadata.uid) ?? []),
  });
  const counted = { current: current && count(current), old: split.old.map(count) };
  const size = ({ set, counts }: CountedSet) =>
    sizeOf(set, { available: counts.available, replicas: counts.replicas + snapshot.creating(set.metadata.uid) });
  const limits = limitsOf(deployment);
  const staff = current ? (machines.get(current.metadata.uid) ?? []) : [];
  const status = deploymentStatus(deployment, counted, limits.unavailable, now);
  return {
    ...snapshot,
    split: { current, old: split.old },
    counted,
    sizes: { current: counted.current && size(counted.current), old: counted.old.map(size) },
    limits,
    replicas: deployment.spec.replicas ?? 0,
    nextRevision,
    complete: isComplete(deployment, status),
    gate: rolling(counted.old) ? gateOf(careOf(deployment), current?.spec.replicas ?? 0, staff, now) : undefined,
  };
}

export const hasMachines = ({ set, counts }: CountedSet): boolean =>
  counts.replicas > 0 || (set.spec.replicas ?? 0) > 0;

/** Whether machines of an older template stand: the birth of a deployment is no rollout. */
export const rolling = (old: readonly CountedSet[]): boolean => old.some(hasMachines);
