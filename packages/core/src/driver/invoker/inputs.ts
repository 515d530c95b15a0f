import type { MachineClass } from '@mcm/api';
import type { Secret } from '@mcm/kube';
import { dataVersion, secretKeysOf } from '../schemas/credentials.ts';

const secretVersion = (key: string, secret: Secret | undefined): string =>
  `${key}@${secret ? dataVersion(secret) : ''}`;

/**
 * Versions of a class and its Secrets. Metadata of a class, such as its finalizer, does not count, because its
 * generation does not change with it.
 */
export function inputs(machineClass: MachineClass | undefined, find: (key: string) => Secret | undefined): string {
  if (!machineClass) return 'no class';
  const { uid, generation = 0 } = machineClass.metadata;
  return [`${uid}:${generation}`, ...secretKeysOf(machineClass).map((key) => secretVersion(key, find(key)))].join(' ');
}
