import {
  Annotations,
  ConditionReasons,
  formatTime,
  type Machine,
  type MachineSet,
  MachineSetConditions,
  type MachineSetStatus,
  type MachineSummary,
  PreserveValues,
} from '@mcm/api';
import { controllerOf, defined } from '@mcm/kube';
import { setSetCondition, withoutCondition } from '../objects/conditions.ts';
import { isAvailable, isFailed, isReady, preserveExpiry } from '../objects/machines.ts';
import { compareText } from '../values/integers.ts';
import { semanticEqual } from '../values/semantic-equal.ts';

export interface MachineCounts {
  readonly replicas: number;
  readonly available: number;
  readonly ready: number;
  readonly fullyLabeled: number;
  readonly preservedFailed: number;
  readonly autoPreserved: number;
  readonly failed: readonly MachineSummary[];
}

function summary(machine: Machine): MachineSummary {
  const { providerID } = machine.spec;
  const lastOperation = machine.status?.lastOperation;
  const owner = controllerOf(machine);
  return defined({
    name: machine.metadata.name,
    providerID: providerID || undefined,
    lastOperation,
    ownerRef: owner?.name,
  });
}

/**
 * Counts the machines of a set (docs/compatibility/rules-deployments.md §7.8). As in the original, `minReadySeconds`
 * has no effect on the counts.
 */
export function countMachines(
  set: MachineSet,
  machines: readonly Machine[],
  counts: (machine: Machine) => boolean = () => true,
): MachineCounts {
  const labels = Object.entries(set.spec.template.metadata?.labels ?? {});
  let replicas = 0;
  let available = 0;
  let ready = 0;
  let fullyLabeled = 0;
  let preservedFailed = 0;
  let autoPreserved = 0;
  const failed: MachineSummary[] = [];
  for (const machine of machines) {
    if (counts(machine)) replicas++;
    if (isAvailable(machine)) available++;
    if (isReady(machine)) ready++;
    if (labels.every(([key, value]) => machine.metadata.labels?.[key] === value)) fullyLabeled++;
    if (machine.metadata.annotations?.[Annotations.Preserve] === PreserveValues.AutoPreserved) autoPreserved++;
    if (isFailed(machine) && preserveExpiry(machine) !== undefined) preservedFailed++;
    else if (machine.status?.lastOperation?.state === 'Failed') failed.push(summary(machine));
  }
  failed.sort((a, b) => compareText(a.name ?? '', b.name ?? ''));
  return { replicas, available, ready, fullyLabeled, preservedFailed, autoPreserved, failed };
}

export interface ReplicaFailure {
  readonly during: 'create' | 'delete';
  readonly message: string;
}

/** Returns the new status of a set. */
export function setStatus(
  set: MachineSet,
  counts: MachineCounts,
  failure: ReplicaFailure | undefined,
  now: Date,
): MachineSetStatus {
  const old = set.status?.machineSetCondition ?? [];
  const type = MachineSetConditions.ReplicaFailure;
  const conditions = failure
    ? setSetCondition(
        old,
        {
          type,
          status: 'True',
          reason: failure.during === 'create' ? ConditionReasons.FailedCreate : ConditionReasons.FailedDelete,
          message: failure.message,
        },
        now,
      )
    : withoutCondition(old, type);
  return defined({
    replicas: counts.replicas,
    fullyLabeledReplicas: counts.fullyLabeled,
    readyReplicas: counts.ready,
    availableReplicas: counts.available,
    preservedFailedReplicas: counts.preservedFailed,
    autoPreserveFailedMachineCount: counts.autoPreserved,
    observedGeneration: set.metadata.generation ?? 0,
    machineSetCondition: conditions,
    lastOperation: { lastUpdateTime: formatTime(now) },
    failedMachines: counts.failed.length > 0 ? [...counts.failed] : undefined,
  });
}

/** Returns true if two statuses differ, except for the time of the last write. */
export function setStatusDiffers(stored: MachineSetStatus | undefined, wanted: MachineSetStatus): boolean {
  const { lastOperation: _storedAt, ...before } = stored ?? {};
  const { lastOperation: _wantedAt, ...after } = wanted;
  return !semanticEqual(before, after);
}
