import { Annotations, Labels, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { controllerOf, type Node } from '@mcm/kube';
import type { Guards } from '../../disruption/guards.ts';
import { planRepairs, type RepairPlan } from '../../disruption/repairs.ts';
import { countsTerminating, isReplicaOf, SAFEGUARD_DEFAULTS } from '../../disruption/safeguards.ts';
import type { DisruptionsUnderWay } from '../../disruption/under-way.ts';
import { type Limits, limitsOf } from '../../objects/limits.ts';
import { machineNumberOf } from '../../objects/machine-names.ts';
import { isAvailable, isTerminating } from '../../objects/machines.ts';
import { countNamed } from '../../objects/scaler.ts';
import { type CanaryPods, podGate } from '../../rollout/canary-pods.ts';
import { withLessSurge } from '../../rollout/less-surge.ts';
import { type PostponedMachine, postponedAmong } from '../../rollout/postponement.ts';
import { highestRevision, type Sets, splitSets } from '../../rollout/revisions.ts';
import { isComplete, isLastRolloutComplete } from '../../rollout/rollout-completion.ts';
import {
  closedGate,
  type Gate,
  type GateInput,
  isNoted,
  keptFailures,
  NO_ROLLOUT_SETTINGS,
  type RolloutSettings,
  rolloutSettingsOf,
} from '../../rollout/rollout-gate.ts';
import { type ClosedBudget, type ClosedWindow, closedFor, isOpenedBy } from '../../rollout/windows/state.ts';
import { countMachines } from '../../set/status.ts';
import { awaitsConfig } from './awaited-config.ts';
import { lastGood } from './growth.ts';
import { syncedSet } from './new-set.ts';
import { type ScalerTimes, scalerTimes } from './scaler-time.ts';
import { type SetSize, sizeOf } from './size.ts';
import { type CountedSet, type CountedSets, deploymentStatus } from './status.ts';

/** The observed state of a deployment, read from the caches at one moment. */
export interface DeploymentSnapshot {
  /**
   * The observed deployment. The deployment is valid, has a selector with at least one requirement, and is not being
   * deleted.
   */
  readonly deployment: MachineDeployment;
  readonly sets: readonly MachineSet[];
  readonly machines: ReadonlyMap<string, readonly Machine[]>;
  readonly creating: (setUid: string) => number;
  readonly nodeOf?: ((name: string) => Node | undefined) | undefined;
  readonly nodesUnseen?: string | undefined;
  readonly guards?: Guards | undefined;
  readonly overlaps?: readonly MachineDeployment[];
  readonly disruptions?: DisruptionsUnderWay;
  readonly canaryPods?: CanaryPods | undefined;
  readonly refusedRollback?: string | undefined;
  readonly now: Date;
}

const DEFAULT_GUARDS: Guards = {
  ...SAFEGUARD_DEFAULTS,
  breakerOf: () => undefined,
  hasClass: () => true,
};

export interface View extends DeploymentSnapshot {
  /** The machines of each set, except for machines whose drain cannot end (see `isReplicaOf`). */
  readonly machines: DeploymentSnapshot['machines'];
  readonly controlled: (set: MachineSet) => number;
  readonly split: Sets;
  readonly scalerTime: string | undefined;
  readonly counted: CountedSets;
  readonly sizes: { readonly current: SetSize | undefined; readonly old: readonly SetSize[] };
  readonly limits: Limits;
  readonly replicas: number;
  readonly nextRevision: number;
  readonly complete: boolean;
  readonly repairs: RepairPlan;
  readonly hasClass: Guards['hasClass'];
  readonly rolloutSettings: RolloutSettings;
  readonly gate: Gate | undefined;
  /** The reason that stops the rollout: a closed maintenance window, a freeze, or the rollout budget of a fleet. */
  readonly closed: ClosedWindow | ClosedBudget | undefined;
  readonly postponed: readonly PostponedMachine[];
  /**
   * The Running machines that do not count as available, because their Nodes have not applied their machine
   * configuration.
   */
  readonly awaited: readonly Machine[];
  readonly good: string | undefined;
}

export function viewOf(seen: DeploymentSnapshot): View {
  const { deployment, sets, now, guards = DEFAULT_GUARDS } = seen;
  const isReplica = isReplicaOf(deployment, guards);
  const machines = new Map([...seen.machines].map(([uid, mine]) => [uid, mine.filter(isReplica)]));
  const snapshot = { ...seen, machines };
  const rolloutSettings = guards.rolloutAnnotations ? rolloutSettingsOf(deployment) : NO_ROLLOUT_SETTINGS;
  const split = splitSets(deployment, sets);
  const nextRevision = highestRevision(split.old) + 1;
  const scaler = split.current && timesOf(snapshot, split.current);
  const current = split.current && syncedSet(deployment, split.current, nextRevision, scaler?.always);
  const count = (set: MachineSet): CountedSet => ({
    set,
    counts: countMachines(set, seen.machines.get(set.metadata.uid) ?? [], isReplica),
  });
  const counted = { current: current && count(current), old: split.old.map(count) };
  const limits = limitsOf(deployment);
  const addMachines = current ? (machines.get(current.metadata.uid) ?? []) : [];
  const gateInput = gateInputOf({
    deployment,
    rolloutSettings,
    split: { current, old: split.old },
    counted,
    machines,
    now,
  });
  const gate = closedGate(gateInput) ?? podGate(gateInput, seen.canaryPods);
  const repairs = repairsOf(snapshot, split, limits, guards, gate);
  const keeps = new Set(repairs.held.map(({ machine }) => controllerOf(machine)?.uid));
  const counting = countsTerminating(deployment, guards);
  const isGoing = (machine: Machine) => isTerminating(machine) || snapshot.disruptions?.isLeaving(machine) === true;
  const isStaying = (machine: Machine) => !isGoing(machine);
  const unproven = ({ metadata: { uid } }: MachineSet) =>
    (machines.get(uid) ?? []).filter((machine) => awaitsConfig(deployment, machine));
  const postponed = mayPostpone(seen, counted.old, guards)
    ? postponedAmong(
        counted.old.flatMap(({ set }) => (machines.get(set.metadata.uid) ?? []).filter(isStaying)),
        seen,
      )
    : [];
  const size = ({ set, counts }: CountedSet) => {
    const { uid } = set.metadata;
    const mine = machines.get(uid) ?? [];
    const going = mine.filter(isGoing);
    return sizeOf(set, {
      available: counts.available - going.filter(isAvailable).length - unproven(set).filter(isStaying).length,
      replicas: counts.replicas + snapshot.creating(uid),
      leaving: counting ? going.filter(isTerminating).length : 0,
      open: Math.max((set.spec.replicas ?? 0) - (mine.length - going.length) - snapshot.creating(uid), 0),
      postponed: postponed.filter(({ machine }) => controllerOf(machine)?.uid === uid).length,
      named: countNamed(set, mine.filter(isStaying), deployment),
      held: keeps.has(uid) ? repairs.held.filter(({ machine }) => controllerOf(machine)?.uid === uid).length : 0,
    });
  };
  const sizes = { current: counted.current && size(counted.current), old: counted.old.map(size) };
  const status = deploymentStatus(deployment, counted, limits.unavailable, now);
  return {
    ...snapshot,
    split: { current, old: split.old },
    scalerTime: scaler?.withFall,
    counted,
    sizes,
    limits: withLessSurge(limits, rolloutSettings.minSurge, addMachines),
    replicas: deployment.spec.replicas ?? 0,
    nextRevision,
    complete: isComplete(deployment, status),
    repairs,
    hasClass: guards.hasClass,
    controlled: ({ metadata }) => seen.machines.get(metadata.uid)?.length ?? 0,
    rolloutSettings,
    gate,
    closed: rolling(counted.old) ? (closedNow(deployment, guards, now) ?? guards.budgetClosed) : undefined,
    postponed,
    awaited: [...(current ? [current] : []), ...split.old].flatMap(unproven),
    good: lastGood(sizes.old, {
      named: deployment.metadata.annotations?.[Annotations.RolloutLastGood],
      hasFailed: (set) => isNoted(deployment, set),
    }),
  };
}

export function gateInputOf(
  view: Pick<View, 'deployment' | 'rolloutSettings' | 'split' | 'counted' | 'machines' | 'now'>,
): GateInput {
  const { deployment, rolloutSettings, split, counted, machines, now } = view;
  const { current, old } = split;
  const mine = current ? (machines.get(current.metadata.uid) ?? []) : [];
  return { deployment, rolloutSettings, current, machines: mine, old, rolling: rolling(counted.old), now };
}

/** Nodes may postpone a rollout only if old machines exist, and no user has overridden windows and postponements. */
const mayPostpone = (
  { deployment, now }: DeploymentSnapshot,
  old: readonly CountedSet[],
  { rolloutAnnotations }: Guards,
): boolean => rolloutAnnotations && rolling(old) && !isOpenedBy(deployment.metadata.annotations, now);

function closedNow(
  deployment: MachineDeployment,
  { rolloutAnnotations, classAnnotations }: Guards,
  now: Date,
): ClosedWindow | undefined {
  const { name = '' } = deployment.spec.template.spec.class;
  if (!rolloutAnnotations) return undefined;
  return closedFor(deployment, classAnnotations?.(name, deployment.metadata.namespace), now);
}

function timesOf({ deployment, machines, now }: DeploymentSnapshot, set: MachineSet): ScalerTimes {
  return scalerTimes({ deployment, set, machines: machines.get(set.metadata.uid) ?? [], undone: false, now });
}

function repairsOf(
  { deployment, machines, nodeOf, nodesUnseen, disruptions, now }: DeploymentSnapshot,
  { current, old }: Sets,
  { unavailable }: Limits,
  { maxUnhealthyReplacements: limit, breakerOf }: Guards,
  gate: Gate | undefined,
): RepairPlan {
  const account = (set: MachineSet) => ({
    replicas: set.spec.replicas ?? 0,
    machines: machines.get(set.metadata.uid) ?? [],
    isOurs: ({ metadata }: Machine) => machineNumberOf(set, metadata.name) !== undefined,
  });
  return planRepairs({
    replicas: deployment.spec.replicas ?? 0,
    unavailable,
    current: current && account(current),
    old: old.map(account),
    finished: isLastRolloutComplete(deployment),
    ...keptFailures(deployment, gate),
    leaving: disruptions?.isLeaving,
    selected: deployment.spec.strategy?.type === 'InPlaceUpdate' && nodeOf ? selectedBy(nodeOf) : undefined,
    limit,
    breakerOf,
    nodeAnnotations: (name) => {
      if (nodesUnseen !== undefined) return 'unseen';
      const node = nodeOf?.(name);
      return node && (node.metadata.annotations ?? {});
    },
    now,
  });
}

const selectedBy =
  (nodeOf: (name: string) => Node | undefined) =>
  ({ metadata }: Machine): boolean =>
    nodeOf(metadata.labels?.[Labels.Node] ?? '')?.metadata.labels?.[Labels.SelectedForUpdate] !== undefined;

export const hasMachines = ({ set, counts }: CountedSet): boolean =>
  counts.replicas > 0 || (set.spec.replicas ?? 0) > 0;

/** Returns true during a rollout. The creation of a deployment is not a rollout. */
export const rolling = (old: readonly CountedSet[]): boolean => old.some(hasMachines);
