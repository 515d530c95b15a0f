import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import { dataVersion, secretKeysOf } from '../schemas/credentials.ts';

const secretVersion = (key: string, secret: Secret | undefined): string =>
  `${key}@${secret ? dataVersion(secret) : ''}`;

/** Changes of the metadata do not change the generation, so the generation is the version of a class. */
function inputs(machineClass: MachineClass | undefined, find: (key: string) => Secret | undefined): string {
  if (!machineClass) return 'no class';
  const { uid, generation = 0 } = machineClass.metadata;
  return [`${uid}:${generation}`, ...secretKeysOf(machineClass).map((key) => secretVersion(key, find(key)))].join(' ');
}

/**
 * Returns the versions of the objects that a driver call uses. The versions include the recorded offering. A retry with
 * another offering has other versions, and therefore starts without a delay.
 */
export function inputsOfMachine(
  machine: Machine,
  machineClass: MachineClass | undefined,
  find: (key: string) => Secret | undefined,
): string {
  const offering = machine.metadata.annotations?.[Annotations.CapacityOffering];
  const own = `${machine.spec.class.kind} ${inputs(machineClass, find)}`;
  return offering === undefined ? own : `${own} ${offering}`;
}
