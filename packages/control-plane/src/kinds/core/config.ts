import { forbiddenValue, invalidValue, jsonTypeOf, requiredValue, tooLong } from '../../apimachinery/errors/errors.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, preset, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { strategy } from '../base/strategy.ts';

const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;
const CONFIG_KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const KEY_LENGTH = 253;
const SIZE_LIMIT = 1024 * 1024;

function keyProblems(key: string): string[] {
  const problems: string[] = [];
  if (key.length > KEY_LENGTH) problems.push(`must be no more than ${KEY_LENGTH} characters`);
  if (!CONFIG_KEY.test(key)) problems.push(CONFIG_KEY_RULE);
  if (key === '.') problems.push("must not be '.'");
  else if (key === '..') problems.push("must not be '..'");
  else if (key.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

function dataCauses(object: ApiObject, field: string): StatusCause[] {
  return Object.keys(look(object, field)).flatMap((key) =>
    keyProblems(key).map((problem) => invalidValue(`${field}[${key}]`, key, problem)),
  );
}

function sizeOf(object: ApiObject, field: string): number {
  let size = 0;
  for (const value of Object.values(look(object, field))) if (typeof value === 'string') size += value.length;
  return size;
}

function frozenCauses(object: ApiObject, old: ApiObject, fields: readonly string[]): StatusCause[] {
  if (old.immutable !== true) return [];
  const causes: StatusCause[] = [];
  const why = 'field is immutable when `immutable` is set';
  if (object.immutable !== true) causes.push(forbiddenValue('immutable', why));
  for (const field of fields) {
    if (!jsonEquals(given(object, field), given(old, field))) causes.push(forbiddenValue(field, why));
  }
  return causes;
}

export const configMapStrategy = strategy({
  causes(object) {
    const causes: StatusCause[] = [];
    const binary = look(object, 'binaryData');
    for (const key of Object.keys(look(object, 'data'))) {
      for (const problem of keyProblems(key)) causes.push(invalidValue(`data[${key}]`, key, problem));
      if (Object.hasOwn(binary, key)) {
        causes.push(invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'));
      }
    }
    causes.push(...dataCauses(object, 'binaryData'));
    if (sizeOf(object, 'data') + (sizeOf(object, 'binaryData') * 3) / 4 > SIZE_LIMIT) {
      causes.push(tooLong('', SIZE_LIMIT));
    }
    return causes;
  },
  changesFirst: true,
  change: (object, old) => frozenCauses(object, old, ['data', 'binaryData']),
});

/** The required keys for each well-known type of Secret. */
const NEEDED_KEYS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};

const ACCOUNT_ANNOTATION = 'kubernetes.io/service-account.name';

function jsonProblem(content: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(content.toString('utf8'));
    if (value === null || isRecord(value)) return undefined;
    return `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type map[string]interface {}`;
  } catch {
    // As in Go, the error shows the first bytes of the content as a list of numbers.
    const first = content
      .toString('latin1')
      .replace(/^[ \t\r\n]+/, '')
      .charAt(0);
    const begins = /[{["\-0-9tfn]/.test(first);
    if (first === '' || begins) return 'unexpected end of JSON input';
    return `invalid character '${first}' looking for beginning of value`;
  }
}

function secretCauses(object: ApiObject): StatusCause[] {
  const causes = dataCauses(object, 'data');
  if ((sizeOf(object, 'data') * 3) / 4 > SIZE_LIMIT) causes.push(tooLong('data', SIZE_LIMIT));
  const type = text(object, 'type');
  const data = look(object, 'data');
  for (const key of NEEDED_KEYS[type] ?? []) {
    if (!Object.hasOwn(data, key)) causes.push(requiredValue(`data[${key}]`));
  }
  for (const key of ['.dockercfg', '.dockerconfigjson']) {
    if (!(NEEDED_KEYS[type] ?? []).includes(key) || !Object.hasOwn(data, key)) continue;
    const problem = jsonProblem(Buffer.from(text(data, key), 'base64'));
    if (problem !== undefined) causes.push(invalidValue(`data[${key}]`, '<secret contents redacted>', problem));
  }
  if (type === 'kubernetes.io/basic-auth' && !('username' in data) && !('password' in data)) {
    causes.push(requiredValue('data[username]'), requiredValue('data[password]'));
  }
  if (type === 'kubernetes.io/service-account-token' && !object.metadata.annotations?.[ACCOUNT_ANNOTATION]) {
    causes.push(requiredValue(`metadata.annotations[${ACCOUNT_ANNOTATION}]`));
  }
  return causes;
}

/** Encodes `stringData` into `data`, because the server stores only `data`. */
function encodeStringData(secret: ApiObject): void {
  const { stringData } = secret;
  if (isRecord(stringData)) {
    const data = isRecord(secret.data) ? secret.data : {};
    for (const [key, value] of Object.entries(stringData)) data[key] = Buffer.from(String(value)).toString('base64');
    if (Object.keys(data).length > 0) secret.data = data;
  }
  delete secret.stringData;
}

/** Keeps only the names in the Secret references of a service account. */
function bareSecrets(account: ApiObject): void {
  if (!Array.isArray(account.secrets)) return;
  account.secrets = items(account, 'secrets').map(({ name }) => (name === undefined ? {} : { name }));
}

export const serviceAccountStrategy = strategy({ prepareForCreate: bareSecrets, prepareForUpdate: bareSecrets });

export const secretStrategy = strategy({
  setDefaults(secret) {
    encodeStringData(secret);
    preset(secret, 'type', 'Opaque');
  },
  causes: secretCauses,
  changesFirst: true,
  change(object, old) {
    const causes: StatusCause[] = [];
    if (object.type !== old.type) causes.push(invalidValue('type', object.type, 'field is immutable'));
    return [...causes, ...frozenCauses(object, old, ['data'])];
  },
});
