import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import { dataVersion, secretKeysOf } from '../schemas/credentials.ts';

const secretVersion = (key: string, secret: Secret | undefined): string =>
  `${key}@${secret ? dataVersion(secret) : ''}`;

/** The generation of the class, which a change of the metadata does not change. */
function inputs(machineClass: MachineClass | undefined, find: (key: string) => Secret | undefined): string {
  if (!machineClass) return 'no class';
  const { uid, generation = 0 } = machineClass.metadata;
  return [`${uid}:${generation}`, ...secretKeysOf(machineClass).map((key) => secretVersion(key, find(key)))].join(' ');
}

/** The versions contain the recorded offering, so a retry with a new offering does not wait. */
export function inputsOfMachine(
  machine: Machine,
  machineClass: MachineClass | undefined,
  find: (key: string) => Secret | undefined,
): string {
  const offering = machine.metadata.annotations?.[Annotations.CapacityOffering];
  const own = `${machine.spec.class.kind} ${inputs(machineClass, find)}`;
  return offering === undefined ? own : `${own} ${offering}`;
}
