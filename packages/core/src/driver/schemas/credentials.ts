import { createHash } from 'node:crypto';
import { type MachineClass, USER_DATA_KEY } from '@mcm/api';
import { makeKey, type Secret } from '@mcm/kube';
import { MachineError } from '../contract/errors.ts';
import type { SecretValues } from '../secrets/secret-value.ts';

/** A class's Secrets, merged and decoded. */
export interface ClassSecrets {
  /** Credentials as text. The user data too, but bytes that are not UTF-8 are lost here: `userData` has them. */
  readonly data: Readonly<Record<string, string>>;
  /** The user data, byte for byte as the Secret holds it; absent: the Secrets have none. */
  readonly userData?: Uint8Array;
  /** All values that no kept text may hold: `data`, with the user data as bytes. */
  readonly hidden: SecretValues;
  /** What is wrong with them, one sentence each; a call that needs them fails with these. */
  readonly problems: readonly string[];
}

/** Keys of the Secrets that a class refers to; the one with the user data first. */
export const secretKeysOf = (machineClass: MachineClass): readonly string[] =>
  [machineClass.secretRef, machineClass.credentialsSecretRef].flatMap((reference) =>
    reference?.name ? [makeKey(reference.namespace ?? machineClass.metadata.namespace, reference.name)] : [],
  );

/** Those Secrets by their names, `Secret n/a` or `Secrets n/a and n/b`; never what they hold. */
export function secretNames(machineClass: MachineClass): string {
  const keys = [...new Set(secretKeysOf(machineClass))];
  return keys.length === 0 ? 'no Secret' : `Secret${keys.length > 1 ? 's' : ''} ${keys.join(' and ')}`;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** One decoded Secret. */
interface Decoded {
  readonly data: Readonly<Record<string, string>>;
  readonly userData?: Uint8Array;
  /** Keys whose values are not UTF-8. */
  readonly noText: readonly string[];
}

const decodedSecrets = new WeakMap<Secret, Decoded>();

/** Decodes each Secret once, because every call needs it. */
function decode(secret: Secret): Decoded {
  const known = decodedSecrets.get(secret);
  if (known) return known;
  const data: Record<string, string> = {};
  const noText: string[] = [];
  for (const [key, value] of Object.entries(secret.data ?? {})) {
    const bytes = Buffer.from(value, 'base64');
    try {
      data[key] = key === USER_DATA_KEY ? bytes.toString('utf8') : decoder.decode(bytes);
    } catch {
      noText.push(key);
    }
  }
  const userData = secret.data?.[USER_DATA_KEY];
  const result = { data, noText, ...(userData === undefined ? {} : { userData: Buffer.from(userData, 'base64') }) };
  decodedSecrets.set(secret, result);
  return result;
}

const notText = (key: string, { metadata: { namespace, name } }: Secret): string =>
  `data.${key} of Secret ${namespace}/${name} is no UTF-8 text; store the base64 of text there`;

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
 * The data of `secretRef` with that of `credentialsSecretRef` laid over it. User data may be any bytes; credentials must
 * be UTF-8. A key that is neither is left out when it is not UTF-8.
 * @param find the Secret of a key, or undefined
 * @param isCredential whether the driver reads the key; default all keys
 */
export function readSecrets(
  machineClass: MachineClass,
  keys: readonly string[],
  find: (key: string) => Secret | undefined,
  isCredential: (key: string) => boolean = () => true,
): ClassSecrets {
  const found = keys.map((key) => ({ key, secret: find(key) }));
  const parts = found.flatMap(({ secret }) => (secret ? [{ secret, ...decode(secret) }] : []));
  const missing = found
    .filter(({ secret }) => !secret)
    .map(
      ({ key }) =>
        `Secret ${key}, which MachineClass ${machineClass.metadata.name} refers to, does not exist; create it, or name another`,
    );
  const data = Object.assign({}, ...parts.map((part) => part.data)) as Record<string, string>;
  const userData = parts.findLast((part) => part.userData !== undefined)?.userData;
  const unreadable = parts.flatMap(({ secret, noText }) =>
    noText.filter(isCredential).map((key) => notText(key, secret)),
  );
  return {
    data,
    hidden: userData === undefined ? data : { ...data, [USER_DATA_KEY]: userData },
    problems: [...missing, ...unreadable],
    ...(userData === undefined ? {} : { userData }),
  };
}

/** The user data, without which no VM can be made. */
export function userDataOf(secrets: ClassSecrets, machineName: string, machineClass: MachineClass): Uint8Array {
  const { userData } = secrets;
  if (userData !== undefined) return userData;
  const because = secrets.problems.length > 0 ? `: ${secrets.problems.join('; ')}` : '';
  throw new MachineError(
    'InvalidArgument',
    `userdata field not found in secret for machine "${machineName}"${because || `; add data.userData to ${secretNames(machineClass)}`}`,
  );
}
