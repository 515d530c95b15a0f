import type { Patch } from '../client.ts';

/** When something was written is not what was decided. */
const PASSING = /(time|timestamp|resourceVersion|uid|generation|managedFields)$/i;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether `actual` has all that `wanted` names; null names what must be absent. Times, UIDs and versions do not count. */
export function includes(actual: unknown, wanted: unknown): boolean {
  if (wanted === null || wanted === undefined) return actual === null || actual === undefined;
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(actual) && actual.length === wanted.length && wanted.every((each, i) => includes(actual[i], each))
    );
  }
  if (!isRecord(wanted)) return actual === wanted;
  const found = isRecord(actual) ? actual : {};
  return Object.entries(wanted).every(([key, value]) => PASSING.test(key) || includes(found[key], value));
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

function operationHolds(object: unknown, operation: object): boolean {
  const { op, path, value } = operation as { readonly op?: unknown; readonly path?: unknown; readonly value?: unknown };
  if (typeof path !== 'string' || op === 'test') return true;
  if (op === 'remove') return at(object, path) === undefined;
  if (!path.endsWith('/-')) return includes(at(object, path), value);
  const list = at(object, path.slice(0, -2));
  return Array.isArray(list) && list.some((each) => includes(each, value));
}

/** Whether an object is as if a patch had been applied to it. */
export const patchHolds = (object: unknown, patch: Patch): boolean =>
  patch.type === 'json'
    ? patch.body.every((operation) => operationHolds(object, operation))
    : includes(object, patch.body);
