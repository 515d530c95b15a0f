import { createHash } from 'node:crypto';
import { type MachineClass, USER_DATA_KEY, UserDataPlaceholders } from '@mcm/api';
import { errorText, type Logger, makeKey, type Secret } from '@mcm/kube';
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
export function userDataOf(secrets: ClassSecrets, machineName: string): string {
  const userData = secrets.data[USER_DATA_KEY];
  if (userData !== undefined) return userData;
  const because = secrets.problems.length > 0 ? `: ${secrets.problems.join('; ')}` : '';
  throw new MachineError(
    'InvalidArgument',
    `userdata field not found in secret for machine "${machineName}"${because || "; add data.userData to the Secret of the class's secretRef"}`,
  );
}

/** Values shorter than this are words, not secrets; lines of user data are mostly harmless words. */
const SHORTEST_SECRET = 6;
const SHORTEST_LINE = 16;

/** What of user data is the same for every machine: what stands between its placeholders. */
const PLACEHOLDERS = new RegExp(Object.values(UserDataPlaceholders).join('|'));

/** Rendered user data holds one of these; which one, only the call that rendered it knows. */
const BOOTSTRAP_TOKEN = /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g;

/** As it stands within JSON. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

function piecesOf(key: string, value: string): readonly string[] {
  // User data travels to clouds in base64, and comes back so in what they echo.
  const whole = [value, value.trim()].flatMap((each) => [each, Buffer.from(each, 'utf8').toString('base64')]);
  const lines = value.split('\n').map((line) => line.trim());
  const parts = key === USER_DATA_KEY ? lines.flatMap((line) => line.split(PLACEHOLDERS)) : [];
  return [...whole, ...lines, ...parts].flatMap((piece) => [piece, escaped(piece)]);
}

/**
 * The text without any value of the Secrets, nor any line of one, nor a bootstrap token: what a cloud or library echoes must
 * not be stored.
 */
export function redact(text: string, secrets: Readonly<Record<string, string>>): string {
  let result = text;
  for (const [key, value] of Object.entries(secrets)) {
    const shortest = key === USER_DATA_KEY ? SHORTEST_LINE : SHORTEST_SECRET;
    for (const piece of piecesOf(key, value)) {
      if (piece.length >= shortest && result.includes(piece)) result = result.replaceAll(piece, '***');
    }
  }
  return result.replaceAll(BOOTSTRAP_TOKEN, '***');
}

type Fields = Readonly<Record<string, unknown>>;

/** Objects of libraries are told so deep and no deeper: they refer to one another in circles. */
const DEEPEST = 5;

/** A logger whose messages and fields hold no value of the Secrets, whatever a driver or its library passes. */
export function redactingLogger(log: Logger, secrets: Readonly<Record<string, string>>): Logger {
  const clean = (value: unknown, depth = 0): unknown => {
    if (typeof value === 'string') return redact(value, secrets);
    if (value instanceof Error) return { name: value.name, message: redact(errorText(value), secrets) };
    if (typeof value !== 'object' || value === null) return value;
    if (depth === DEEPEST) return '…';
    if (Array.isArray(value)) return value.map((each) => clean(each, depth + 1));
    return cleanFields(value as Fields, depth + 1);
  };
  const cleanFields = (fields: Fields, depth = 0): Fields =>
    Object.fromEntries(Object.entries(fields).map(([key, each]) => [key, clean(each, depth)]));
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: Fields = {}): void =>
      log[level](redact(message, secrets), cleanFields(fields));
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => redactingLogger(log.with(cleanFields(fields)), secrets),
  };
}
