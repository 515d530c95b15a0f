import { stringifyJson } from '../objects/json.ts';
import type { KindDefinition } from '../objects/kind.ts';
import type { ApiObject } from '../objects/object.ts';
import { defined } from '../objects/plain.ts';
import { type StatusCause, StatusError } from '../objects/status.ts';

type Named = Pick<KindDefinition, 'group' | 'plural'>;

/** Formats the name of a resource: `deployments.apps`, or `pods` in the core group. */
export const qualifiedResource = (kind: Named): string =>
  kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;

/** Formats the name of a kind: `Deployment.apps`, or `Pod` in the core group. */
const qualifiedKind = (kind: Pick<KindDefinition, 'group' | 'kind'>): string =>
  kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;

/** Returns the details of a Status, with the fields in the order of kube-apiserver. */
function details(name: string, group: string, kind: string, more: Record<string, unknown> = {}) {
  return defined({ name: name || undefined, group: group || undefined, kind, ...more });
}

export const notFound = (kind: Named, name: string): StatusError =>
  new StatusError({
    message: `${qualifiedResource(kind)} "${name}" not found`,
    reason: 'NotFound',
    details: details(name, kind.group, kind.plural),
    code: 404,
  });

export const alreadyExists = (kind: Named, name: string, prefix = ''): StatusError =>
  new StatusError({
    message: `${prefix}${qualifiedResource(kind)} "${name}" already exists`,
    reason: 'AlreadyExists',
    details: details(name, kind.group, kind.plural),
    code: 409,
  });

export const conflict = (kind: Named, name: string, why: string): StatusError =>
  new StatusError({
    message: `Operation cannot be fulfilled on ${qualifiedResource(kind)} "${name}": ${why}`,
    reason: 'Conflict',
    details: details(name, kind.group, kind.plural),
    code: 409,
  });

export const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/** Returns a 409 error whose message starts with the kind, such as `ConfigMap "x"`. */
export const preconditionFailed = (kind: KindDefinition, name: string, why: string): StatusError =>
  new StatusError({
    message: `Operation cannot be fulfilled on ${qualifiedKind(kind)} "${name}": ${why}`,
    reason: 'Conflict',
    details: details(name, kind.group, kind.kind),
    code: 409,
  });

export function joinCauses(causes: readonly StatusCause[]): string {
  const lines = [...new Set(causes.map(({ field = '', message = '' }) => `${field}: ${message}`))];
  return lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
}

/** For a kind that the server stores as another kind, error messages contain the stored kind. */
export const shownKind = (kind: KindDefinition): Pick<KindDefinition, 'group' | 'kind'> =>
  kind.storedAs?.resource.startsWith('/') === true ? { group: '', kind: kind.kind } : kind;

/** For a kind that the server stores as another kind, the error contains the group of the stored kind. */
export const invalid = (
  kind: Pick<KindDefinition, 'group' | 'kind'> & Partial<Pick<KindDefinition, 'storedAs'>>,
  name: string,
  given: readonly StatusCause[],
): StatusError =>
  invalidWith(
    { kind: kind.kind, group: kind.storedAs?.resource.split('/')[0] ?? kind.group },
    name,
    // If a cause concerns the whole object, its field is `[]`.
    given.map((cause) => (cause.field === '' ? { ...cause, field: '[]' } : cause)),
  );

const invalidWith = (
  kind: Pick<KindDefinition, 'group' | 'kind'>,
  name: string,
  causes: readonly StatusCause[],
): StatusError =>
  new StatusError({
    message: `${qualifiedKind(kind)} "${name}" is invalid${causes.length === 0 ? '' : `: ${joinCauses(causes)}`}`,
    reason: 'Invalid',
    details: details(name, kind.group, kind.kind, causes.length === 0 ? {} : { causes: [...causes] }),
    code: 422,
  });

export const badRequest = (message: string): StatusError =>
  new StatusError({ message, reason: 'BadRequest', code: 400 });

/** kube-apiserver converts an error without a status to an internal error without a reason. */
export const internal = (message: string): StatusError => new StatusError({ message, code: 500 });

/** Returns the 404 error of the router for an unknown path or subresource. */
export const unknownResource = (): StatusError =>
  new StatusError({
    message: 'the server could not find the requested resource',
    reason: 'NotFound',
    details: {},
    code: 404,
  });

/** Returns the 405 error of the router. */
export const methodNotAllowed = (): StatusError =>
  new StatusError({
    message: 'the server does not allow this method on the requested resource',
    reason: 'MethodNotAllowed',
    details: {},
    code: 405,
  });

/** Returns the 405 error of a handler: `delete is not supported on resources of kind "widgets.example.dev"`. */
export const notSupported = (kind: Named, verb: string): StatusError =>
  new StatusError({
    message: `${verb} is not supported on resources of kind "${qualifiedResource(kind)}"`,
    reason: 'MethodNotAllowed',
    details: details('', kind.group, kind.plural),
    code: 405,
  });

const VERBS: Readonly<Record<string, string>> = { POST: 'create', DELETE: 'delete' };

/** Returns the 405 error for an unsupported method of a subresource. */
export const notOfSubresource = (
  kind: Pick<KindDefinition, 'group' | 'plural' | 'custom'>,
  method: string,
): StatusError => (kind.custom ? notSupported(kind, VERBS[method] ?? method.toLowerCase()) : methodNotAllowed());

/** Returns the 403 error of an admission plugin or of the authorizer. */
export const forbidden = (kind: Named, name: string, why: string, causes?: StatusCause[]): StatusError =>
  new StatusError({
    message: `${qualifiedResource(kind)}${name === '' ? '' : ` "${name}"`} is forbidden: ${why}`,
    reason: 'Forbidden',
    details: details(name, kind.group, kind.plural, causes === undefined ? {} : { causes }),
    code: 403,
  });

interface NamedRequest {
  readonly served: { readonly kind: KindDefinition };
  readonly name: string;
  readonly object: ApiObject | undefined;
}

/** Returns the 403 error of an admission plugin. For a collection, the message of a refusal contains no name. */
export const notAdmitted = ({ served, name, object }: NamedRequest, why: string, causes?: StatusCause[]): StatusError =>
  forbidden(served.kind, name || object?.metadata.name || object?.metadata.generateName || 'Unknown', why, causes);

/** Returns the 410 error for a compacted revision. */
export const expired = (message: string): StatusError => new StatusError({ message, reason: 'Expired', code: 410 });

/** Returns the 504 error for a resourceVersion that does not exist yet. */
export const tooLargeResourceVersion = (asked: string, current: number): StatusError =>
  new StatusError({
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    reason: 'Timeout',
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
    code: 504,
  });

export const unauthorized = (): StatusError =>
  new StatusError({ message: 'Unauthorized', reason: 'Unauthorized', code: 401 });

/** Formats a string like `%q` in Go, and any other value as JSON. */
const shown = (value: unknown): string => (value === undefined ? 'null' : stringifyJson(value));

export const invalidValue = (field: string, value: unknown, message: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  message: message === '' ? `Invalid value: ${shown(value)}` : `Invalid value: ${shown(value)}: ${message}`,
  field,
});

export const requiredValue = (field: string, message = ''): StatusCause => ({
  reason: 'FieldValueRequired',
  message: message === '' ? 'Required value' : `Required value: ${message}`,
  field,
});

export const forbiddenValue = (field: string, message: string): StatusCause => ({
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${message}`,
  field,
});

export const unsupportedValue = (field: string, value: unknown, supported: readonly string[]): StatusCause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${shown(value)}: supported values: ${supported.map((item) => JSON.stringify(item)).join(', ')}`,
  field,
});

export const tooLong = (field: string, limit: number): StatusCause => ({
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${limit} bytes`,
  field,
});

const GO_WORDS: Readonly<Record<string, string>> = { boolean: 'bool', bigint: 'number' };

/** Returns the type of a JSON value, with the type name from Go's decoder. */
export const jsonTypeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : (GO_WORDS[typeof value] ?? typeof value);

/** Returns an internal error of the server, with the text of `NewInternalError` in apimachinery. */
export const internalError = (why: string): StatusError =>
  new StatusError({
    message: `Internal error occurred: ${why}`,
    reason: 'InternalError',
    details: { causes: [{ message: why }] },
    code: 500,
  });
