import { isMachineCode, type MachineClass, USER_DATA_KEY } from '@mcm/api';
import type { MachineError } from '../contract/errors.ts';
import { secretKeysOf, secretNames } from './credentials.ts';
import { noSecret, pathText } from './decode.ts';

export interface Problem {
  readonly reason: 'CredentialsRefused' | 'CloudUnreachable' | 'CloudRefuses';
  readonly hint: string;
}

const UNREACHABLE = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const UNTRUSTED = /CERT|UNABLE_TO_VERIFY|SSL|TLS/;
const PLACES = new Set(['endpoint', 'location', 'region', 'zone']);
const LASTING = new Set(['InvalidArgument', 'Internal', 'FailedPrecondition', 'PermissionDenied']);
/** The hint ignores shorter field values, because they can occur in an error message by chance. */
const SHORTEST_VALUE = 4;
const MOST_FIELDS = 3;
const DEEPEST_CAUSE = 8;

/**
 * Returns a hint for a call that the cloud refused because of the class or its Secret, or undefined for any other
 * cause.
 * @param error the error of the driver with its causes
 * @param call the name of the driver's method
 */
export function problemOf(
  error: MachineError,
  machineClass: MachineClass,
  secrets: Readonly<Record<string, string>>,
  call: string,
): Problem | undefined {
  // mcm has already reported this problem on the class with the method `check`.
  if (error.place !== undefined) return undefined;
  if (error.credentialsRefused) return { reason: 'CredentialsRefused', hint: credentialsHint(machineClass, secrets) };
  const network = networkCode(error);
  if (network !== undefined) return { reason: 'CloudUnreachable', hint: networkHint(network, machineClass) };
  // For the driver call `create`, `NotFound` means that the class refers to a missing cloud resource, such as an image.
  if (!LASTING.has(error.code) && !(call === 'create' && error.code === 'NotFound')) return undefined;
  const fields = leaves(machineClass.providerSpec).filter(({ value }) => names(error.message, value));
  if (fields.length === 0) return undefined;
  return { reason: 'CloudRefuses', hint: `check ${reported(fields)} of MachineClass ${machineClass.metadata.name}` };
}

export function placeOf({ place }: MachineError, machineClass: MachineClass): string | undefined {
  if (place === undefined) return undefined;
  if (place !== 'secret') return `correct ${place} of MachineClass ${machineClass.metadata.name}`;
  return secretKeysOf(machineClass).length === 0
    ? noSecret(machineClass)
    : `correct the value in ${secretNames(machineClass)}`;
}

const CREDENTIALS_HINT = 'correct the credentials in Secret';

/** Returns true if the text of an operation reports that the cloud refused the credentials of the class. */
export const reportsRefusedCredentials = (text: string): boolean => text.includes(CREDENTIALS_HINT);

function credentialsHint(machineClass: MachineClass, secrets: Readonly<Record<string, string>>): string {
  const keys = Object.keys(secrets).filter((key) => key !== USER_DATA_KEY);
  const holder = secretKeysOf(machineClass).at(-1) ?? '';
  const which = keys.length > 0 ? ` (data.${keys.join(', data.')})` : '';
  return `${CREDENTIALS_HINT} ${holder}${which}, or the permissions of the account`;
}

function networkHint(code: string, machineClass: MachineClass): string {
  if (UNTRUSTED.test(code))
    return `the controller does not trust the certificate of the cloud endpoint (${code}); set NODE_EXTRA_CA_CERTS to the file with its CA`;
  const places = leaves(machineClass.providerSpec).filter(({ path }) => PLACES.has(String(path[0]).toLowerCase()));
  const fields = places.length > 0 ? `${reported(places)}, ` : '';
  return `the controller cannot reach the cloud (${code}); check ${fields}the endpoint in Secret or environment, and the network`;
}

function networkCode(error: unknown): string | undefined {
  let at: unknown = error;
  for (let depth = 0; depth < DEEPEST_CAUSE && at instanceof Error; depth++) {
    const code: unknown = 'code' in at ? at.code : undefined;
    if (typeof code === 'string' && (UNREACHABLE.has(code) || UNTRUSTED.test(code))) return code;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return undefined;
}

interface Leaf {
  readonly path: readonly (string | number)[];
  readonly value: string;
}

function leaves(value: unknown, path: readonly (string | number)[] = []): Leaf[] {
  if (typeof value === 'string') return [{ path, value }];
  if (Array.isArray(value)) return value.flatMap((each, at) => leaves(each, [...path, at]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => leaves(each, [...path, key]));
}

/**
 * Returns true if the message contains the value as a whole word. A value that is the name of an error code never
 * matches.
 */
function names(message: string, value: string): boolean {
  if (value.length < SHORTEST_VALUE || isMachineCode(value)) return false;
  const at = message.indexOf(value);
  const isWord = (character: string | undefined): boolean => character !== undefined && /\w/.test(character);
  return at >= 0 && !isWord(message[at - 1]) && !isWord(message[at + value.length]);
}

const reported = (fields: readonly Leaf[]): string =>
  fields
    .slice(0, MOST_FIELDS)
    .map(({ path, value }) => `providerSpec${pathText(path)} (${JSON.stringify(value)})`)
    .join(', ');
