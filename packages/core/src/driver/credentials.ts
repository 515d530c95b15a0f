import { createHash } from 'node:crypto';
import { type MachineClass, USER_DATA_KEY } from '@mcm/api';
import { makeKey, type Secret } from '@mcm/kube';
import { MachineError } from './errors.ts';

/** A class's Secrets, merged and decoded. */
export interface ClassSecrets {
  readonly data: Readonly<Record<string, string>>;
  /** What is wrong with them, one sentence each; a call that needs them fails with these. */
  readonly problems: readonly string[];
}

/** Keys of the Secrets that a class refers to; the one with the user data first. */
export const secretKeysOf = (machineClass: MachineClass): readonly string[] =>
  [machineClass.secretRef, machineClass.credentialsSecretRef].flatMap((reference) =>
    reference?.name ? [makeKey(reference.namespace ?? machineClass.metadata.namespace, reference.name)] : [],
  );

/** Those Secrets by their names, `Secret n/a` or `Secrets n/a and n/b`; never what they hold. */
export function secretsTold(machineClass: MachineClass): string {
  const keys = [...new Set(secretKeysOf(machineClass))];
  return keys.length === 0 ? 'no Secret' : `Secret${keys.length > 1 ? 's' : ''} ${keys.join(' and ')}`;
}

const decoder = new TextDecoder('utf-8', { fatal: true });
const decodedSecrets = new WeakMap<Secret, ClassSecrets>();

/** Decodes each Secret once: they are asked for with every call. */
function decode(secret: Secret): ClassSecrets {
  const known = decodedSecrets.get(secret);
  if (known) return known;
  const data: Record<string, string> = {};
  const problems: string[] = [];
  for (const [key, value] of Object.entries(secret.data ?? {})) {
    try {
      data[key] = decoder.decode(Buffer.from(value, 'base64'));
    } catch {
      problems.push(
        `data.${key} of Secret ${secret.metadata.namespace}/${secret.metadata.name} is no UTF-8 text; store the base64 of text there`,
      );
    }
  }
  const result = { data, problems };
  decodedSecrets.set(secret, result);
  return result;
}

const versions = new WeakMap<Secret, string>();

/** Says whether a Secret's data has changed; its metadata (our finalizer) does not count. */
export function dataVersion(secret: Secret): string {
  const known = versions.get(secret);
  if (known !== undefined) return known;
  const version = createHash('sha256')
    .update(JSON.stringify(secret.data ?? {}))
    .digest('base64url')
    .slice(0, 16);
  versions.set(secret, version);
  return version;
}

/**
 * The data of `secretRef` with that of `credentialsSecretRef` laid over it.
 * @param find the Secret of a key, or undefined
 */
export function readSecrets(
  machineClass: MachineClass,
  keys: readonly string[],
  find: (key: string) => Secret | undefined,
): ClassSecrets {
  const found = keys.map((key) => ({ key, secret: find(key) }));
  const parts = found.flatMap(({ secret }) => (secret ? [decode(secret)] : []));
  const missing = found
    .filter(({ secret }) => !secret)
    .map(
      ({ key }) =>
        `Secret ${key}, which MachineClass ${machineClass.metadata.name} refers to, does not exist; create it, or name another`,
    );
  return {
    data: Object.assign({}, ...parts.map(({ data }) => data)) as Record<string, string>,
    problems: [...missing, ...parts.flatMap(({ problems }) => problems)],
  };
}

/** The user data, without which no VM can be made. */
export function userDataOf(secrets: ClassSecrets, machineName: string, machineClass: MachineClass): string {
  const userData = secrets.data[USER_DATA_KEY];
  if (userData !== undefined) return userData;
  const because = secrets.problems.length > 0 ? `: ${secrets.problems.join('; ')}` : '';
  throw new MachineError(
    'InvalidArgument',
    `userdata field not found in secret for machine "${machineName}"${because || `; add data.userData to ${secretsTold(machineClass)}`}`,
  );
}
