import type { ApiObject } from '../object.ts';
import type { StatusCause } from '../status.ts';
import { invalidValue } from './errors.ts';
import type { ServedKind } from './kind-registry.ts';

/** Failures after which CEL rules are not run: they could not trust the object. */
const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const NOT_CHECKED = invalidValue(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);

/**
 * What the schema of a custom kind says of an object whose metadata gave `meta`. Built-in kinds have their types checked when they are decoded,
 * and their own rules say the rest.
 */
export function schemaCauses(
  served: ServedKind,
  object: ApiObject,
  old: ApiObject | undefined,
  meta: readonly StatusCause[],
): StatusCause[] {
  if (!served.kind.custom || served.schema === undefined) return [];
  const blocked = served.hasRules && meta.some(({ reason = '' }) => BLOCKING.has(reason));
  if (!blocked) return served.schema.validate(object, old);
  return [...(served.plainSchema?.validate(object, old) ?? []), NOT_CHECKED];
}
