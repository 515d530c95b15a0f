import { stringifyJson } from '../json.ts';
import { apiVersionOf } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import { isRecord } from '../schema/json.ts';
import { unrecognized } from './body.ts';
import { badRequest, invalid, invalidValue, jsonTypeOf } from './errors.ts';
import type { KindRegistry, ServedKind } from './kind-registry.ts';

/** Why an object of one type is none of another, in the scheme's words. */
export function unconvertible(apiVersion: string, name: string, { kind }: ServedKind, kinds: KindRegistry): string {
  // The scheme knows no custom kinds.
  if (kinds.byKind(apiVersion, name)?.kind.custom !== false) {
    return `no kind "${name}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`;
  }
  const target = `${kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? '')}.${kind.kind}`;
  return `converting (${apiVersion.split('/').at(-1)}.${name}) to (${target}): unknown conversion`;
}

/** Why apiVersion and kind cannot be read; undefined when they can. */
export function typeMetaProblem(body: Record<string, unknown>): string | undefined {
  const field = ['apiVersion', 'kind'].find((each) => typeof (body[each] ?? '') !== 'string');
  if (field === undefined) return undefined;
  const why = `json: cannot unmarshal ${jsonTypeOf(body[field])} into Go struct field .${field} of type string`;
  return `couldn't get version/kind; json parse error: ${why}`;
}

/** apiVersion and kind are read before anything else is. @throws StatusError 400 */
export function checkTypeMeta(body: Record<string, unknown>): void {
  const problem = typeMetaProblem(body);
  if (problem !== undefined) throw badRequest(problem);
}

/** apiVersion and kind must be those of the URL. Fills them in where a built-in kind may leave them out. */
export function checkType(
  body: Record<string, unknown>,
  served: ServedKind,
  kinds: KindRegistry,
  bytes: Uint8Array,
): void {
  checkTypeMeta(body);
  const { kind } = served;
  const apiVersion = body.apiVersion;
  const name = body.kind;
  if (kind.custom) {
    const shown = stringifyJson(body);
    if (typeof name !== 'string' || name === '') {
      throw unrecognized(kind.kind, `Object 'Kind' is missing in '${shown}'`, bytes);
    }
    if (typeof apiVersion !== 'string' || apiVersion === '') {
      throw unrecognized(kind.kind, `Object 'apiVersion' is missing in '${shown}'`, bytes);
    }
    if (apiVersion !== served.apiVersion) {
      throw badRequest(
        `the API version in the data (${apiVersion}) does not match the expected API version (${served.apiVersion})`,
      );
    }
    if (name !== kind.kind) {
      const objectName = isRecord(body.metadata) ? String(body.metadata.name ?? '') : '';
      throw invalid({ group: kind.group, kind: name }, objectName, [
        invalidValue('kind', name, `must be ${kind.kind}`),
      ]);
    }
    return;
  }
  const given = { apiVersion: apiVersion ?? '', kind: name ?? '' };
  if (given.apiVersion === '') given.apiVersion = served.apiVersion;
  if (given.kind === '') given.kind = kind.kind;
  if (given.apiVersion !== served.apiVersion || given.kind !== kind.kind) {
    const version = String(given.apiVersion).split('/').at(-1) ?? '';
    const why = unconvertible(String(given.apiVersion), String(given.kind), served, kinds);
    throw badRequest(`${given.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${why}`);
  }
  body.apiVersion = served.apiVersion;
  body.kind = kind.kind;
}

/** Whether an object is of the kind, in the version, that is served. */
export const sameVersion = (object: ApiObject, served: ServedKind): boolean =>
  object.apiVersion === apiVersionOf(served.kind) && object.kind === served.kind.kind;
