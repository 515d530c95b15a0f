import { invalidValue } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { scaleCauses } from '../../crd/scale.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import { embeddedCauses } from '../bodies/embedded.ts';

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
 * What the schema of a custom kind says of an object whose metadata gave `meta`; `warn` gets what is no longer right and may stay. Built-in kinds have their types checked when they are decoded,
 * and their own rules say the rest.
 */
export function schemaCauses(
  served: ServedKind,
  object: ApiObject,
  old: ApiObject | undefined,
  meta: readonly StatusCause[],
  subresource: string,
  warn: (text: string) => void,
): StatusCause[] {
  if (!served.kind.custom || served.schema === undefined) return [];
  const scale = [
    ...scaleCauses(served.kind.subresources?.scale, object, subresource),
    ...embeddedCauses(object, served.schema.node),
  ];
  const ofSchema = causesOfSchema(served, object, old, meta, scale, warn);
  return subresource === 'status' ? ofSchema.map(belowStatus) : ofSchema;
}

/** The status is judged by a schema of its own, which knows of no field above it. */
function belowStatus(cause: StatusCause): StatusCause {
  const { field = '', message } = cause;
  // What is said of no field names it in the message.
  if (field === '<nil>' && message !== undefined && / in status\.\S+$/.test(message)) {
    return { ...cause, field: 'status', message: message.replace(/ in status\.(\S+)$/, ' in $1') };
  }
  if (!/^status\b/.test(field) || message === undefined) return cause;
  const own = field.replace(/^status\.?/, '');
  return { ...cause, message: message.replace(`: ${field} in body`, () => `: ${own} in body`) };
}

function causesOfSchema(
  served: ServedKind,
  object: ApiObject,
  old: ApiObject | undefined,
  meta: readonly StatusCause[],
  scale: readonly StatusCause[],
  warn: (text: string) => void,
): StatusCause[] {
  if (served.schema === undefined) return [];
  const blocked = served.hasRules && meta.some(({ reason = '' }) => BLOCKING.has(reason));
  if (!blocked) return served.schema.validate(object, old, scale, warn);
  return [...(served.plainSchema?.validate(object, old, scale) ?? []), NOT_CHECKED];
}
