import { createHash } from 'node:crypto';
import { type MachineClass, USER_DATA_KEY } from '@mcm/api';
import { makeKey, type Secret } from '@mcm/kube';
import { MachineError } from '../contract/errors.ts';
import type { SecretValues } from '../secrets/secret-value.ts';

export interface ClassSecrets {
  /** User data is not always valid UTF-8, so `userData` contains the exact bytes. */
  readonly data: Readonly<Record<string, string>>;
  readonly userData?: Uint8Array | undefined;
  readonly hidden: SecretValues;
  /** One sentence for each problem of the Secrets that makes driver calls fail. */
  readonly problems: readonly string[];
}

/** Returns the keys `namespace/name` of the Secrets of a class. */
export const secretKeysOf = (machineClass: MachineClass): readonly string[] =>
  [machineClass.secretRef, machineClass.credentialsSecretRef].flatMap((reference) =>
    reference?.name ? [makeKey(reference.namespace ?? machineClass.metadata.namespace, reference.name)] : [],
  );

export function secretNames(machineClass: MachineClass): string {
  const keys = [...new Set(secretKeysOf(machineClass))];
  return keys.length === 0 ? 'no Secret' : `Secret${keys.length > 1 ? 's' : ''} ${keys.join(' and ')}`;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

interface Decoded {
  readonly data: Readonly<Record<string, string>>;
  readonly userData?: Uint8Array | undefined;
  readonly noText: readonly string[];
}

const decodedSecrets = new WeakMap<Secret, Decoded>();

/** Decodes a Secret. Every driver call reads the Secrets, so the function caches the decoded Secrets. */
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
  const result = { data, noText, userData: userData === undefined ? undefined : Buffer.from(userData, 'base64') };
  decodedSecrets.set(secret, result);
  return result;
}

const notText = (key: string, { metadata: { namespace, name } }: Secret): string =>
  `data.${key} of Secret ${namespace}/${name} is not UTF-8 text; write base64-encoded UTF-8 text to this key`;

const versions = new WeakMap<Secret, string>();

/** Returns the version of a Secret: a hash of its data. Changes of the metadata do not change the version. */
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
 * Reads the Secrets of a class. If both Secrets contain a key, `credentialsSecretRef` takes precedence over
 * `secretRef`.
 *
 * - User data may be any bytes, but credentials must be valid UTF-8.
 *
 * @param find returns the Secret with the key `namespace/name`
 * @param isCredential returns whether the driver reads a
 * key of a Secret (default: all keys)
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
        `MachineClass ${machineClass.metadata.name} refers to Secret ${key}, which does not exist; create the Secret, or correct the reference`,
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
    userData,
  };
}

/**
 * Returns the user data.
 * @throws MachineError if the Secrets contain no user data
 */
export function userDataOf(secrets: ClassSecrets, machineName: string, machineClass: MachineClass): Uint8Array {
  const { userData } = secrets;
  if (userData !== undefined) return userData;
  const because = secrets.problems.length > 0 ? `: ${secrets.problems.join('; ')}` : '';
  throw new MachineError(
    'InvalidArgument',
    `userdata field not found in secret for machine "${machineName}"${because || `; add data.userData to ${secretNames(machineClass)}`}`,
  );
}
