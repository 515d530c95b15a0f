import { Labels, type Machine, type MachineSet, phaseOf } from '@mcm/api';
import { type Change, type Controller, controllerOf, type Key, keyOf, type Node } from '@mcm/kube';
import { BY_NODE, type ControllerContext, changedBeyondStatus, deploymentOf } from '../control/caches.ts';
import { isAvailable, isFailed, isReady, updateReasonOf } from '../objects/machines.ts';
import { matcherOf } from '../objects/selector.ts';
import { changedHands, failedAgain, setOf } from '../set/wakeups.ts';
import { semanticEqual } from '../values/semantic-equal.ts';

/** If ten machines join within this delay, the controller writes the status once instead of ten times. */
const SWARM_MS = 200;

function matchingDeployments(set: MachineSet, { deployments }: ControllerContext): Key[] {
  return deployments.store
    .list()
    .filter(({ spec }) => matcherOf(spec.selector)(set.metadata.labels))
    .map(keyOf);
}

function interested(set: MachineSet, context: ControllerContext): Key[] {
  if (controllerOf(set) === undefined) return matchingDeployments(set, context);
  const deployment = deploymentOf(set, context);
  return deployment ? [keyOf(deployment)] : [];
}

/** Returns the deployments that a change of a set affects (docs/compatibility/rules-deployments.md §1.1). */
function deploymentsOfSetChange(change: Change<MachineSet>, context: ControllerContext): Key[] {
  const { object } = change;
  if (change.type === 'deleted') return controllerOf(object) === undefined ? [] : interested(object, context);
  if (change.type === 'added') return interested(object, context);
  const { old } = change;
  const conditionsChanged = !semanticEqual(old.status?.machineSetCondition, object.status?.machineSetCondition);
  // A set that has just lost its last machine can now be deleted if the revision history is too long.
  const emptied = (object.spec.replicas ?? 0) === 0 && (object.status?.replicas ?? 0) === 0;
  if (!changedBeyondStatus(old, object) && !conditionsChanged && !emptied) return [];
  return changedHands(old, object)
    ? [...interested(old, context), ...interested(object, context)]
    : interested(object, context);
}

function matters(old: Machine, machine: Machine): boolean {
  return (
    isAvailable(old) !== isAvailable(machine) ||
    isReady(old) !== isReady(machine) ||
    phaseOf(old) !== phaseOf(machine) ||
    old.status?.lastOperation?.state !== machine.status?.lastOperation?.state ||
    failedAgain(old, machine) ||
    updateReasonOf(old) !== updateReasonOf(machine) ||
    old.status?.currentStatus?.preserveExpiryTime !== machine.status?.currentStatus?.preserveExpiryTime ||
    !semanticEqual(old.status?.blockedBy, machine.status?.blockedBy) ||
    changedBeyondStatus(old, machine)
  );
}

/**
 * The labels whose changes affect a rollout: the labels of in-place updates, and the label that postpones a rollout.
 */
const MARKS = [
  Labels.CandidateForUpdate,
  Labels.SelectedForUpdate,
  Labels.UpdateResult,
  Labels.RolloutPostpone,
] as const;
const marksChanged = (old: Node, node: Node): boolean =>
  updateReasonOf(old) !== updateReasonOf(node) ||
  MARKS.some((key) => old.metadata.labels?.[key] !== node.metadata.labels?.[key]);

function deploymentOfMachine(machine: Machine, context: ControllerContext): Key[] {
  const set = setOf(machine, context);
  const deployment = deploymentOf(set ?? machine, context);
  return deployment ? [keyOf(deployment)] : [];
}

/** If the owner of a machine changes, the controller reconciles both the old and the new MachineDeployment. */
function deploymentsOfMachineChange(change: Change<Machine>, context: ControllerContext): Key[] {
  const now = deploymentOfMachine(change.object, context);
  const moved = change.type === 'updated' && changedHands(change.old, change.object);
  return moved ? [...deploymentOfMachine(change.old, context), ...now] : now;
}

export function wakeDeployments(controller: Controller, context: ControllerContext): void {
  const soon = (keys: readonly Key[]): [] => {
    for (const key of keys) controller.enqueue(key, SWARM_MS);
    return [];
  };
  controller.watch(context.deployments, (change) =>
    change.type === 'updated' && !changedBeyondStatus(change.old, change.object) ? [] : [change.key],
  );
  // Most updates of sets come from the deployment controller itself, so one reconcile handles several of them.
  controller.watch(context.sets, (change) => {
    const keys = deploymentsOfSetChange(change, context);
    return change.type === 'updated' ? soon(keys) : keys;
  });
  controller.watch(context.machines, (change) =>
    change.type === 'updated' && !matters(change.old, change.object)
      ? []
      : (isFailed(change.object) ? (keys: readonly Key[]) => keys : soon)(deploymentsOfMachineChange(change, context)),
  );
  if (context.nodes === undefined) return;
  controller.watch(
    context.nodes.informer,
    (change) =>
      change.type === 'deleted' || (change.type === 'updated' && !marksChanged(change.old, change.object))
        ? []
        : soon(
            context.machines.store
              .byIndex(BY_NODE, change.object.metadata.name)
              .flatMap((m) => deploymentOfMachine(m, context)),
          ),
    () => context.deployments.store.list().map(keyOf),
  );
}
