import {
  badRequest,
  invalid,
  invalidValue,
  jsonTypeOf,
  requiredValue,
  unsupportedValue,
} from '../apimachinery/errors/errors.ts';
import type { Json, JsonObject } from '../apimachinery/objects/object.ts';
import { defined } from '../apimachinery/objects/plain.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  readonly force: boolean;
  readonly given?: JsonObject;
}

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions' | 'ListOptions';

const invalidOptions = (kind: OptionsKind, causes: readonly StatusCause[]) =>
  invalid({ group: 'meta.k8s.io', kind }, '', causes);

const MANAGER_LIMIT = 128;
const FIELD_VALIDATIONS = ['Ignore', 'Warn', 'Strict'] as const;

/**
 * Returns an error for each unprintable character in the name of a manager. As in Go, the position is a number of
 * bytes.
 */
function unprintableCauses(manager: string): StatusCause[] {
  const causes: StatusCause[] = [];
  let position = 0;
  for (const character of manager) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
      causes.push(invalidValue('fieldManager', manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(character);
  }
  return causes;
}

function dryRunCauses(values: readonly string[]): StatusCause[] {
  return values.every((value) => value === 'All') ? [] : [unsupportedValue('dryRun', [...values], ['All'])];
}

/** Returns whether an option in a query is true. */
export const isTrue = (value: string | null): boolean => value !== null && value !== '0' && value !== 'false';

/** @throws StatusError 400 with the error text of `strconv` in Go, if the text is not an integer */
export function parseInteger(value: string | null): number | undefined {
  if (value === null || value === '') return undefined;
  const digits = /^[-+]?\d+$/.test(value);
  const inRange = digits && BigInt.asIntN(64, BigInt(value.replace('+', ''))) === BigInt(value.replace('+', ''));
  if (inRange) return Number(value);
  const why = digits ? 'value out of range' : 'invalid syntax';
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: ${why}`);
}

/** Returns the default field manager: the part of the user agent before the first slash. */
const managerOf = (userAgent: string): string => (userAgent.split('/')[0] || 'unknown').slice(0, MANAGER_LIMIT);

export type WriteOptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions';

/**
 * Parses `dryRun`, `fieldManager`, `fieldValidation` and `force`.
 * @throws StatusError 422 with the kind of the options, for an invalid option.
 */
export function parseWriteOptions(
  kind: WriteOptionsKind,
  query: URLSearchParams,
  userAgent: string,
  applying = false,
): WriteOptions {
  const dryRun = query.getAll('dryRun');
  const fieldManager = query.get('fieldManager') ?? '';
  const fieldValidation = query.get('fieldValidation') ?? '';
  const force = query.get('force');
  const causes: StatusCause[] = [];
  if (kind === 'PatchOptions') {
    if (applying && fieldManager === '') {
      causes.push(requiredValue('fieldManager', 'is required for apply patch'));
    } else if (!applying && force !== null) {
      causes.push({
        reason: 'FieldValueForbidden',
        message: 'Forbidden: may not be specified for non-apply patch',
        field: 'force',
      });
    }
  }
  if (Buffer.byteLength(fieldManager) > MANAGER_LIMIT) {
    causes.push({
      reason: 'FieldValueTooLong',
      message: `Too long: may not be more than ${MANAGER_LIMIT} bytes`,
      field: 'fieldManager',
    });
  }
  causes.push(...unprintableCauses(fieldManager));
  causes.push(...dryRunCauses(dryRun));
  const known = FIELD_VALIDATIONS.find((value) => value === fieldValidation);
  if (fieldValidation !== '' && known === undefined) {
    causes.push(unsupportedValue('fieldValidation', fieldValidation, ['', ...FIELD_VALIDATIONS].sort()));
  }
  if (causes.length > 0) throw invalidOptions(kind, causes);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: fieldManager === '' ? managerOf(userAgent) : fieldManager,
    fieldValidation: known ?? 'Warn',
    force: isTrue(force),
    given: defined({
      dryRun: dryRun.length > 0 ? dryRun : undefined,
      fieldManager: fieldManager || undefined,
      fieldValidation: fieldValidation || undefined,
    }),
  };
}

export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** The ranges of a shard. Without the feature ShardedListAndWatch, the server ignores the parameter. */
  readonly shardSelector: string;
  readonly limit: number;
  readonly continue: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly timeoutSeconds: number | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly watch: boolean;
}

/** @throws StatusError 400 if a number is invalid. */
export function parseListOptions(query: URLSearchParams, { sharded = false } = {}): ListOptions {
  const sendInitialEvents = query.get('sendInitialEvents');
  return {
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    shardSelector: sharded ? (query.get('shardSelector') ?? '') : '',
    limit: Math.max(0, parseInteger(query.get('limit')) ?? 0),
    continue: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    timeoutSeconds: parseInteger(query.get('timeoutSeconds')),
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: sendInitialEvents === null ? undefined : isTrue(sendInitialEvents),
    watch: isTrue(query.get('watch')),
  };
}

const forbiddenCause = (field: string, message: string): StatusCause => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${message}`,
  field,
});

/**
 * Refuses invalid combinations of list options, like `ValidateListOptions` in Kubernetes.
 * @throws StatusError 422 for an invalid combination
 */
export function checkListOptions(options: ListOptions): void {
  const { resourceVersion, resourceVersionMatch: match, sendInitialEvents } = options;
  const causes: StatusCause[] = options.watch ? watchCauses(options) : [];
  if (!options.watch) {
    if (match !== '') {
      if (resourceVersion === '') {
        causes.push(
          forbiddenCause(
            'resourceVersionMatch',
            'resourceVersionMatch is forbidden unless resourceVersion is provided',
          ),
        );
      }
      if (options.continue !== '') {
        causes.push(
          forbiddenCause('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'),
        );
      }
      if (match !== 'Exact' && match !== 'NotOlderThan') {
        causes.push(unsupportedValue('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
      }
      if (match === 'Exact' && resourceVersion === '0') {
        causes.push(
          forbiddenCause('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
        );
      }
    }
    if (sendInitialEvents !== undefined) {
      causes.push(forbiddenCause('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
    }
  }
  if (causes.length > 0) throw invalidOptions('ListOptions', causes);
}

function watchCauses({ sendInitialEvents, resourceVersionMatch: match, ...options }: ListOptions): StatusCause[] {
  const causes: StatusCause[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    causes.push(
      forbiddenCause('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
  }
  if (sendInitialEvents === undefined && match !== '') {
    causes.push(
      forbiddenCause(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    );
  }
  if (match !== '' && match !== 'NotOlderThan') {
    causes.push(unsupportedValue('resourceVersionMatch', match, ['NotOlderThan']));
  }
  // As in kube-apiserver, this error contains a wrong field name.
  if (options.continue !== '') {
    causes.push(forbiddenCause('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'));
  }
  return causes;
}

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly given?: JsonObject;
}

const POLICIES = ['Foreground', 'Background', 'Orphan'] as const;

function givenToDelete(read: (field: string) => unknown, dryRun: readonly string[]): JsonObject {
  const given: JsonObject = {};
  for (const field of ['gracePeriodSeconds', 'preconditions', 'orphanDependents', 'propagationPolicy']) {
    const value = read(field);
    if (value !== undefined) given[field] = value as Json;
  }
  if (dryRun.length > 0) given.dryRun = [...dryRun];
  return given;
}

/** Returns the preconditions in the query of a deletion without a body. */
function preconditionsOf(query: URLSearchParams): JsonObject | undefined {
  const [uid, resourceVersion] = [query.get('uid'), query.get('resourceVersion')];
  if (!uid && !resourceVersion) return undefined;
  return defined({ uid: uid || undefined, resourceVersion: resourceVersion || undefined });
}

/**
 * If a delete request has a body, the server ignores the query.
 * @throws StatusError 422 for an invalid option.
 */
export function parseDeleteOptions(query: URLSearchParams, body: Record<string, unknown> | undefined): DeleteOptions {
  const { options, check } = readDeleteOptions(query, body);
  check();
  return options;
}

/**
 * Parses the delete options of an eviction.
 * @throws StatusError 400 if an option has a wrong type
 */
export function readDeleteOptions(
  query: URLSearchParams,
  body: Record<string, unknown> | undefined,
): { readonly options: DeleteOptions; readonly check: () => void } {
  if (body !== undefined) checkDeleteTypes(body);
  const read = (field: string): unknown => {
    if (body !== undefined) return body[field] ?? undefined;
    if (field === 'preconditions') return preconditionsOf(query);
    return query.get(field) ?? undefined;
  };
  const grace = read('gracePeriodSeconds');
  const orphan = read('orphanDependents');
  const policy = read('propagationPolicy');
  const dryRunValues = body === undefined ? query.getAll('dryRun') : stringsOf(body.dryRun);
  const causes: StatusCause[] = [];
  const known = POLICIES.find((value) => value === policy);
  if (orphan !== undefined && policy !== undefined) {
    causes.push(
      invalidValue('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  }
  if (policy !== undefined && known === undefined) {
    causes.push(unsupportedValue('propagationPolicy', policy, [...POLICIES, 'nil']));
  }
  causes.push(...dryRunCauses(dryRunValues));
  const preconditions = read('preconditions');
  const options: DeleteOptions = {
    dryRun: dryRunValues.length > 0,
    gracePeriodSeconds:
      typeof grace === 'string' ? parseInteger(grace) : grace === undefined ? undefined : Number(grace),
    propagationPolicy:
      orphan === undefined ? known : orphan === true || orphan === 'true' || orphan === '1' ? 'Orphan' : 'Background',
    preconditions:
      typeof preconditions === 'object' && preconditions !== null ? (preconditions as { uid?: string }) : undefined,
    given: givenToDelete(read, dryRunValues),
  };
  const check = (): void => {
    if (causes.length > 0) throw invalidOptions('DeleteOptions', causes);
  };
  return { options, check };
}

const TYPES_OF_DELETE: readonly (readonly [field: string, type: string, is: (value: unknown) => boolean])[] = [
  ['gracePeriodSeconds', 'int64', (value) => typeof value === 'bigint' || Number.isSafeInteger(value)],
  ['orphanDependents', 'bool', (value) => typeof value === 'boolean'],
  ['propagationPolicy', 'v1.DeletionPropagation', (value) => typeof value === 'string'],
  ['dryRun', '[]string', (value) => Array.isArray(value) && value.every((item) => typeof item === 'string')],
  ['preconditions', 'v1.Preconditions', (value) => typeof value === 'object' && !Array.isArray(value)],
];
const PRECONDITIONS = ['uid', 'resourceVersion'];

/**
 * @throws StatusError 400 if an option has a wrong type.
 * @param within The prefixes of the error text and of the path, if another body contains the options.
 * Example: `{ text: 'Eviction in …: ', path: 'deleteOptions.' }`
 */
export function checkDeleteTypes(body: Record<string, unknown>, within = { text: '', path: '' }): void {
  const refuse = (field: string, value: unknown, type: string): Error =>
    badRequest(
      `${within.text}json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field DeleteOptions.${within.path}${field} of type ${type}`,
    );
  for (const [field, type, is] of TYPES_OF_DELETE) {
    const value = body[field] ?? undefined;
    if (value !== undefined && !is(value)) throw refuse(field, value, type);
  }
  const preconditions = (body.preconditions ?? {}) as Record<string, unknown>;
  for (const field of PRECONDITIONS) {
    const value = preconditions[field] ?? '';
    if (typeof value !== 'string') throw refuse(`preconditions.${field}`, value, 'string');
  }
}

const stringsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
