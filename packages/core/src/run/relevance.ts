import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import { type Change, type Key, makeKey } from '@mcm/kube';
import { secretKeysOf } from '../driver/schemas/credentials.ts';
import { releasesMore } from '../safety/orphans/quarantine.ts';

/** New capacity is urgent. A thousand drains that begin at once come after it. */
export const awaitsVm = (machine: Machine | undefined): boolean =>
  machine !== undefined && !machine.spec.providerID && machine.metadata.deletionTimestamp === undefined;

/** Annotations of a class that are settings of its machines. */
const SETTINGS = [Annotations.UndrainablePolicy, Annotations.Hooks];

/** A change of the finalizer of a class does not concern its machines. */
export const classMatters = (change: Change<MachineClass>): boolean =>
  change.type !== 'updated' ||
  change.old.metadata.generation !== change.object.metadata.generation ||
  SETTINGS.some((key) => change.old.metadata.annotations?.[key] !== change.object.metadata.annotations?.[key]);

/** A class that is being deleted first deletes its kept VMs. */
export const isNewOrGoes = (change: Change<MachineClass>): boolean =>
  change.type !== 'updated' ||
  releasesMore(change.old, change.object) ||
  (change.object.metadata.deletionTimestamp !== undefined && change.old.metadata.deletionTimestamp === undefined);

/** The number of users of a class changes only with created and deleted machines. */
export function classOfMachine(change: Change<Machine>): readonly Key[] {
  const keyOfClass = ({ metadata, spec }: Machine): Key => makeKey(metadata.namespace, spec.class.name ?? '');
  if (change.type !== 'updated') return [keyOfClass(change.object)];
  const [before, now] = [keyOfClass(change.old), keyOfClass(change.object)];
  return before === now ? [] : [before, now];
}

/** The Secrets that the class names, and those that it named before. */
export function secretsOfClass(change: Change<MachineClass>): readonly Key[] {
  const before = change.type === 'updated' ? secretKeysOf(change.old) : [];
  return [...new Set([...before, ...secretKeysOf(change.object)])];
}
