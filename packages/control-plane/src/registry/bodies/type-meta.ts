import { badRequest, invalid, invalidValue, jsonTypeOf } from '../../apimachinery/errors/errors.ts';
import { apiVersionOf } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import type { KindRegistry, ServedKind } from '../../resources/kind-registry.ts';
import { unrecognized } from './body.ts';

/** Kinds of the API machinery that Go's scheme contains in every version. */
const UNVERSIONED = new Set(['Status', 'APIVersions', 'APIGroupList', 'APIGroup', 'APIResourceList']);

/** Returns the error for a kind that cannot be converted, with the text of Go's scheme. */
export function unconvertible(apiVersion: string, name: string, { kind }: ServedKind, kinds: KindRegistry): string {
  // Custom kinds are not part of Go's scheme.
  const isUnversioned = UNVERSIONED.has(name);
  if (!isUnversioned && kinds.byKind(apiVersion, name)?.kind.custom !== false) {
    return `no kind "${name}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`;
  }
  const target = `${kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? '')}.${kind.kind}`;
  const version = isUnversioned ? 'v1' : apiVersion.split('/').at(-1);
  return `converting (${version}.${name}) to (${target}): unknown conversion`;
}

export function typeMetaProblem(body: Record<string, unknown>): string | undefined {
  const field = ['apiVersion', 'kind'].find((each) => typeof (body[each] ?? '') !== 'string');
  if (field === undefined) return undefined;
  const why = `json: cannot unmarshal ${jsonTypeOf(body[field])} into Go struct field .${field} of type string`;
  return `couldn't get version/kind; json parse error: ${why}`;
}

/** @throws StatusError 400 if apiVersion or kind is not a string */
export function checkTypeMeta(body: Record<string, unknown>): void {
  const problem = typeMetaProblem(body);
  if (problem !== undefined) throw badRequest(problem);
}

/** Splits an apiVersion into group and version. */
export function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } | undefined {
  if (apiVersion === '' || apiVersion === '/') return { group: '', version: '' };
  const parts = apiVersion.split('/');
  if (parts.length > 2) return undefined;
  const [version = '', group = ''] = parts.reverse();
  return { group, version };
}

const joined = (group: string, version: string): string => (group === '' ? version : `${group}/${version}`);

/** Checks apiVersion and kind of a body. */
export function checkType(
  body: Record<string, unknown>,
  served: ServedKind,
  kinds: KindRegistry,
  bytes: Uint8Array,
): void {
  const { kind } = served;
  const problem = typeMetaProblem(body);
  if (problem !== undefined) throw unrecognized(kind.kind, problem, bytes);
  const apiVersion = String(body.apiVersion ?? '');
  const name = String(body.kind ?? '');
  const parsed = parseApiVersion(apiVersion);
  if (parsed === undefined) throw unrecognized(kind.kind, `unexpected GroupVersion string: ${apiVersion}`, bytes);
  if (kind.custom) {
    checkCustomVersion(body, { ...parsed, name }, served, bytes);
    return;
  }
  const isSilent = parsed.version === '' && (parsed.group === '' || parsed.group === kind.group);
  const given = isSilent ? served.apiVersion : joined(parsed.group, parsed.version);
  const givenKind = name === '' ? kind.kind : name;
  if (given !== served.apiVersion || givenKind !== kind.kind) {
    const why =
      parsed.version === '' && !isSilent
        ? `Object 'apiVersion' is missing in '${Buffer.from(bytes).toString('utf8')}'`
        : unconvertible(given, givenKind, served, kinds);
    const version = isSilent ? kind.version : parsed.version;
    throw badRequest(`${givenKind} in version "${version}" cannot be handled as a ${kind.kind}: ${why}`);
  }
  body.apiVersion = served.apiVersion;
  body.kind = kind.kind;
}

function checkCustomVersion(
  body: Record<string, unknown>,
  { group, version, name }: { readonly group: string; readonly version: string; readonly name: string },
  served: ServedKind,
  bytes: Uint8Array,
): void {
  const { kind } = served;
  if (name === '') {
    throw unrecognized(kind.kind, `Object 'Kind' is missing in '${Buffer.from(bytes).toString('utf8')}'`, bytes);
  }
  if (body.apiVersion === null) {
    const why = '.apiVersion accessor error: <nil> is of the type <nil>, expected string';
    throw badRequest(`${name} in version "" cannot be handled as a ${kind.kind}: ${why}`);
  }
  const given = group === '' ? version : `${group}/${version}`;
  if (given !== served.apiVersion) {
    throw badRequest(
      `the API version in the data (${given}) does not match the expected API version (${served.apiVersion})`,
    );
  }
}

/** Returns whether a patched object still has the group and the kind of its resource. */
export const isOfResource = ({ apiVersion, kind }: Partial<ApiObject>, served: ServedKind): boolean =>
  kind === served.kind.kind && parseApiVersion(apiVersion ?? '')?.group === served.kind.group;

/**
 * Validates a custom object whose kind or version was changed.
 * @throws StatusError 422 for a changed kind or version
 */
export function checkCustomType(object: ApiObject, served: ServedKind, old: ApiObject | undefined): void {
  const { apiVersion = '', kind = '' } = object as Partial<ApiObject>;
  const { group, version } = parseApiVersion(apiVersion) ?? { group: '', version: apiVersion };
  const given = joined(group, version);
  const causes: StatusCause[] = [];
  if (kind !== served.kind.kind) causes.push(invalidValue('kind', kind, `must be ${served.kind.kind}`));
  if (given !== served.apiVersion) causes.push(invalidValue('apiVersion', given, `must be ${served.apiVersion}`));
  if (causes.length === 0) return;
  throw invalid(
    { group, kind },
    object.metadata.name ?? '',
    served.schema?.validateRules(causes, object, old) ?? causes,
  );
}

export const sameVersion = (object: ApiObject, served: ServedKind): boolean =>
  object.apiVersion === apiVersionOf(served.kind) && object.kind === served.kind.kind;
