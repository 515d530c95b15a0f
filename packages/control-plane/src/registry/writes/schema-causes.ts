import { invalidValue } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { scaleCauses } from '../../crd/scale.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import { embeddedCauses } from './embedded-causes.ts';

/** The reasons of errors after which the server evaluates no CEL rules, because the rules need a valid object. */
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
 * @param meta the errors in the metadata
 * @param warn called with each error that is allowed because the old object already has it
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
    // As in kube-apiserver, a write of the status does not validate embedded resources.
    ...(subresource === 'status' ? [] : embeddedCauses(object, served.schema.node)),
  ];
  const ofSchema = causesOfSchema(served, object, old, meta, scale, warn);
  return subresource === 'status' ? ofSchema.map(belowStatus) : ofSchema;
}

/** Removes the prefix `status` from the path in an error message, because the status has its own schema. */
function belowStatus(cause: StatusCause): StatusCause {
  const { field = '', message } = cause;
  // If an error has no field, its message contains the path.
  if (field === '<nil>' && message !== undefined && / in status\.\S+$/.test(message)) {
    return { ...cause, field: 'status', message: message.replace(/ in status\.(\S+)$/, ' in $1') };
  }
  const combined = /^Invalid value: "": "status(?:\.([^"]*))?" must/.exec(message ?? '');
  if (field === '<nil>' && message !== undefined && combined !== null) {
    return { ...cause, field: 'status', message: message.replace(/"status(?:\.([^"]*))?"/, `"${combined[1] ?? ''}"`) };
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
