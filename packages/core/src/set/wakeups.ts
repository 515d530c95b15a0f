import type { Machine, MachineSet } from '@mcm/api';
import { phaseOf } from '@mcm/api';
import { type Change, type Controller, controllerOf, type Key, type KubeObject, keyOf, makeKey } from '@mcm/kube';
import { type ControllerContext, changedBeyondStatus } from '../control/caches.ts';
import type { Waiters } from '../flow/waiters.ts';
import { matcherOf } from '../objects/selector.ts';
import { semanticEqual } from '../values/semantic-equal.ts';

/** mcm delays a reconcile of a set by this time, because many machines can change together. */
const SWARM_MS = 20;

/** Returns the MachineSet that owns the machine. A set with an equal name but another UID is not the owner. */
export function setOf(machine: Machine, { sets }: Pick<ControllerContext, 'sets'>): MachineSet | undefined {
  const controller = controllerOf(machine);
  if (controller?.kind !== 'MachineSet') return undefined;
  const set = sets.store.get(makeKey(machine.metadata.namespace, controller.name));
  return set?.metadata.uid === controller.uid ? set : undefined;
}

export function changedHands(old: KubeObject, object: KubeObject): boolean {
  const [before, after] = [controllerOf(old), controllerOf(object)];
  return before?.uid !== after?.uid || before?.name !== after?.name || before?.kind !== after?.kind;
}

/** Returns true if the last operation failed for another reason. The operation can stay `Failed` between two attempts. */
export function failedAgain({ status: old }: Machine, { status }: Machine): boolean {
  const [before, now] = [old?.lastOperation, status?.lastOperation];
  if (before?.state !== 'Failed' && now?.state !== 'Failed') return false;
  return (
    before?.state !== now?.state || before?.description !== now?.description || before?.errorCode !== now?.errorCode
  );
}

function machineMatters(old: Machine, machine: Machine): boolean {
  return (
    phaseOf(old) !== phaseOf(machine) ||
    old.status?.currentStatus?.preserveExpiryTime !== machine.status?.currentStatus?.preserveExpiryTime ||
    failedAgain(old, machine) ||
    !semanticEqual(old.status?.blockedBy, machine.status?.blockedBy) ||
    changedBeyondStatus(old, machine)
  );
}

function matchingSets(machine: Machine, { sets }: ControllerContext): Key[] {
  return sets.store
    .list()
    .filter(({ spec }) => matcherOf(spec.selector)(machine.metadata.labels))
    .map(keyOf);
}

function interestedSets(machine: Machine, context: ControllerContext): Key[] {
  if (controllerOf(machine) === undefined) return matchingSets(machine, context);
  const set = setOf(machine, context);
  return set ? [keyOf(set)] : [];
}

/** Returns the sets that a change of a machine affects (docs/compatibility/rules-deployments.md §7.1). */
function setsOfMachineChange(change: Change<Machine>, context: ControllerContext): Key[] {
  const { object } = change;
  if (change.type !== 'updated') {
    return change.type === 'deleted' && controllerOf(object) === undefined ? [] : interestedSets(object, context);
  }
  if (!machineMatters(change.old, object)) return [];
  return changedHands(change.old, object)
    ? [...interestedSets(change.old, context), ...interestedSets(object, context)]
    : interestedSets(object, context);
}

export interface SetWaiters {
  readonly machines: Waiters;
  readonly classes: Waiters;
}

export function wakeSets(controller: Controller, context: ControllerContext): void {
  controller.watch(context.sets, (change) =>
    change.type === 'updated' && !changedBeyondStatus(change.old, change.object) ? [] : [change.key],
  );
  controller.watch(context.machines, (change) => {
    for (const key of setsOfMachineChange(change, context)) controller.enqueue(key, SWARM_MS);
    return [];
  });
}

export function wakeWaiters(
  controller: Controller,
  context: ControllerContext,
  { machines, classes }: SetWaiters,
): void {
  controller.watch(context.machines, (change) => {
    if (change.type === 'updated' && !machineMatters(change.old, change.object)) return [];
    const set = setOf(change.object, context);
    for (const key of machines.of(set && controllerOf(set)?.uid)) controller.enqueue(key, SWARM_MS);
    return [];
  });
  // A change of `maxUnavailable` or of the replicas can end the wait of failed machines.
  controller.watch(context.deployments, (change) =>
    change.type === 'updated' && changedBeyondStatus(change.old, change.object)
      ? machines.of(change.object.metadata.uid)
      : [],
  );
  context.disruptions.onSettled((deploymentUid) => {
    for (const key of machines.of(deploymentUid)) controller.enqueue(key, SWARM_MS);
  });
  const all = (): readonly Key[] => context.sets.store.list().map(keyOf);
  controller.watch(
    context.safeguards.classes,
    ({ type, object }) => (type === 'added' ? classes.of(object.metadata.name) : []),
    all,
  );
  if (context.nodes) controller.watch(context.nodes.informer, () => [], all);
}
