import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import { type Change, type Key, makeKey } from '@mcm/kube';
import { secretKeysOf } from '../driver/schemas/credentials.ts';
import { releasesMore } from '../safety/orphans/quarantine.ts';
import { DRAIN_TIMEOUT_KEYS } from '../settings/drain-timeouts.ts';

/**
 * Returns true if the machine needs a VM. These machines are reconciled before machines that are being drained, because
 * new capacity is urgent.
 */
export const awaitsVm = (machine: Machine | undefined): boolean =>
  machine !== undefined && !machine.spec.providerID && machine.metadata.deletionTimestamp === undefined;

const SETTINGS = [
  Annotations.UndrainablePolicy,
  ...DRAIN_TIMEOUT_KEYS,
  Annotations.DrainRules,
  Annotations.Hooks,
  Annotations.DriftPolicy,
];

/** Returns true if the change of a class affects its machines. A change of only the finalizer does not affect them. */
export const classMatters = (change: Change<MachineClass>): boolean =>
  change.type !== 'updated' ||
  change.old.metadata.generation !== change.object.metadata.generation ||
  SETTINGS.some((key) => change.old.metadata.annotations?.[key] !== change.object.metadata.annotations?.[key]);

/**
 * Returns true if a change of a class releases VMs. All classes of a cluster list the same VMs, so mcm then searches
 * all classes.
 */
export const releases = (change: Change<MachineClass>): boolean =>
  change.type === 'updated' && releasesMore(change.old, change.object);

/**
 * Returns true if the class is new, or if its deletion has started. A class that is being deleted first deletes its
 * kept VMs.
 */
export const isNewOrGoes = (change: Change<MachineClass>): boolean =>
  change.type !== 'updated' ||
  (change.object.metadata.deletionTimestamp !== undefined && change.old.metadata.deletionTimestamp === undefined);

/** Returns the classes whose number of users changes: when a machine is created, deleted, or gets another class. */
export function classOfMachine(change: Change<Machine>): readonly Key[] {
  const keyOfClass = ({ metadata, spec }: Machine): Key => makeKey(metadata.namespace, spec.class.name ?? '');
  if (change.type !== 'updated') return [keyOfClass(change.object)];
  const [before, now] = [keyOfClass(change.old), keyOfClass(change.object)];
  return before === now ? [] : [before, now];
}

/** Returns the Secrets to which the class refers now, and the Secrets to which it referred before the change. */
export function secretsOfClass(change: Change<MachineClass>): readonly Key[] {
  const before = change.type === 'updated' ? secretKeysOf(change.old) : [];
  return [...new Set([...before, ...secretKeysOf(change.object)])];
}
