import { Annotations, Finalizers, type Machine, type MachineClass } from '@mcm/api';
import { type Change, type Key, makeKey } from '@mcm/kube';
import { secretKeysOf } from '../driver/schemas/credentials.ts';
import { releasesMore } from '../safety/orphans/quarantine.ts';
import { DRAIN_TIMEOUT_KEYS } from '../settings/drain-timeouts.ts';

/**
 * Returns true if the machine needs a VM. New capacity is urgent, so mcm reconciles machines without a VM before
 * machines that are being drained.
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

const isProtected = ({ metadata }: MachineClass): boolean =>
  metadata.finalizers?.includes(Finalizers.MachineControllerManager) === true;

/**
 * Returns true if the change of a class can affect its machines. Among the metadata, only some annotations and the
 * finalizer matter. A new machine waits for the finalizer.
 */
export const classMatters = (change: Change<MachineClass>): boolean =>
  change.type !== 'updated' ||
  (isProtected(change.object) && !isProtected(change.old)) ||
  change.old.metadata.generation !== change.object.metadata.generation ||
  SETTINGS.some((key) => change.old.metadata.annotations?.[key] !== change.object.metadata.annotations?.[key]);

/**
 * Returns true if an operator released VMs on the class. All classes of a cluster list the VMs of the whole cluster, so
 * each released VM causes a search of all classes.
 */
export const releases = (change: Change<MachineClass>): boolean =>
  change.type === 'updated' && releasesMore(change.old, change.object);

/** A class that is being deleted first deletes its kept VMs. */
export const isNewOrGoes = (change: Change<MachineClass>): boolean =>
  change.type !== 'updated' ||
  (change.object.metadata.deletionTimestamp !== undefined && change.old.metadata.deletionTimestamp === undefined);

/** The number of users of a class changes when a machine is created, deleted, or gets another class. */
export function classOfMachine(change: Change<Machine>): readonly Key[] {
  const keyOfClass = ({ metadata, spec }: Machine): Key => makeKey(metadata.namespace, spec.class.name ?? '');
  if (change.type !== 'updated') return [keyOfClass(change.object)];
  const [before, now] = [keyOfClass(change.old), keyOfClass(change.object)];
  return before === now ? [] : [before, now];
}

/** Returns the Secrets that a class references now, and the Secrets that it referenced before the change. */
export function secretsOfClass(change: Change<MachineClass>): readonly Key[] {
  const before = change.type === 'updated' ? secretKeysOf(change.old) : [];
  return [...new Set([...before, ...secretKeysOf(change.object)])];
}
