import type { Patch } from '../contract/client.ts';
import { isRecord } from '../contract/json-values.ts';

const PASSING = /(time|timestamp|resourceVersion|uid|generation|managedFields)$/i;

/**
 * Returns the fields in which `actual` differs from `wanted`. A null in `wanted` means that the field must be absent.
 */
export function missing(actual: unknown, wanted: unknown, path = ''): readonly string[] {
  const unless = (holds: boolean): readonly string[] => (holds ? [] : [path]);
  if (wanted === null || wanted === undefined) return unless(actual === null || actual === undefined);
  if (Array.isArray(wanted)) {
    // An empty list equals an absent field, because the API server does not store empty lists.
    if (wanted.length === 0 && actual === undefined) return [];
    if (!Array.isArray(actual) || actual.length !== wanted.length) return [path];
    return wanted.flatMap((each, i) => missing(actual[i], each, `${path}[${i}]`));
  }
  if (!isRecord(wanted)) return unless(actual === wanted);
  const found = isRecord(actual) ? actual : {};
  return Object.entries(wanted).flatMap(([key, value]) =>
    value === undefined || PASSING.test(key) ? [] : missing(found[key], value, path === '' ? key : `${path}.${key}`),
  );
}

const at = (object: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (value, part) => (typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined),
      object,
    );

function operationMissing(object: unknown, operation: object): readonly string[] {
  const { op, path, value } = operation as { readonly op?: unknown; readonly path?: unknown; readonly value?: unknown };
  if (typeof path !== 'string' || op === 'test') return [];
  const name = path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  if (op === 'remove') return at(object, path) === undefined ? [] : [name];
  if (!path.endsWith('/-')) return missing(at(object, path), value, name);
  const list = at(object, path.slice(0, -2));
  return Array.isArray(list) && list.some((each) => missing(each, value).length === 0) ? [] : [name];
}

export const missingOfPatch = (object: unknown, patch: Patch): readonly string[] =>
  patch.type === 'json'
    ? patch.body.flatMap((operation) => operationMissing(object, operation))
    : missing(object, patch.body);
