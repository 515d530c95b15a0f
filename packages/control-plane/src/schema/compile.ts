import { invalid, NO_FIELD } from '../apimachinery/errors/schema-causes.ts';
import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { dropNulls, setDefaults } from './defaults.ts';
import { validateLists } from './lists.ts';
import { nodeOf, type SchemaNode } from './model/node.ts';
import { pruneValue } from './prune.ts';
import { validateRules } from './rules.ts';
import { validateValue } from './validate.ts';

export interface CompiledSchema {
  readonly node: SchemaNode;
  /**
   * Removes the fields that the schema does not contain, and returns their sorted paths, such as `spec.foo`. Fields
   * below `x-kubernetes-preserve-unknown-fields` stay. In an embedded resource, apiVersion, kind and metadata stay.
   */
  prune(object: ApiObject): string[];
  /** Returns the paths that {@link prune} would remove, for strict field validation. */
  unknownFields(object: ApiObject): string[];
  /**
   * Sets the defaults of the schema. If a field does not allow null, its default replaces a null. If the field has no
   * default, the null is removed. With `keepNulls` (server-side apply), all nulls stay.
   */
  setDefaults(object: ApiObject, options?: { readonly keepNulls?: boolean }): void;
  /**
   * The errors have the order of kube-apiserver: types, formats, limits, required fields and enums, then `scale`, list
   * keys and CEL rules. With `old`, the function also evaluates transition rules, and reports rule errors about an
   * unchanged value only to `warn`.
   */
  validate(
    object: ApiObject,
    old?: ApiObject,
    scale?: readonly StatusCause[],
    warn?: (text: string) => void,
  ): StatusCause[];
  /** Returns the errors in `earlier`, followed by the errors of list keys and CEL rules. */
  validateRules(
    earlier: readonly StatusCause[],
    object: ApiObject,
    old?: ApiObject,
    warn?: (text: string) => void,
  ): StatusCause[];
}

const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const RULES_NOT_CHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

function unknown(object: ApiObject, schema: JsonSchema, keep: boolean): string[] {
  const found: string[] = [];
  pruneValue(object, nodeOf(schema), { path: '', resource: true, keep, found });
  return found.sort();
}

/**
 * The server compiles each schema once, so the operations on objects are fast. The server compiles CEL rules at their
 * first use.
 */
export function compileSchema(schema: JsonSchema, options: { celRules?: boolean } = {}): CompiledSchema {
  const node = nodeOf(schema);
  const rulesAfter: CompiledSchema['validateRules'] = (earlier, object, old, warn) => {
    const causes = [...earlier];
    const lists = validateLists(object, node, '', []);
    // As in kube-apiserver, the new list may be invalid if the old list was already invalid (ratcheting).
    if (lists.length > 0 && (old === undefined || validateLists(old, node, '', []).length === 0)) causes.push(...lists);
    if (options.celRules === false || !node.rulesBelow) return causes;
    // Another check reports a missing name. If a required field is missing, the function evaluates no rule for the
    // object.
    const isNameless = (object.metadata.name ?? '') === '';
    if (isNameless || causes.some((cause) => BLOCKING.has(cause.reason ?? ''))) {
      causes.push(invalid(NO_FIELD, null, RULES_NOT_CHECKED));
      return causes;
    }
    causes.push(...validateRules(object, old, node, warn));
    return causes;
  };
  return {
    node,
    prune: (object) => unknown(object, schema, false),
    unknownFields: (object) => unknown(object, schema, true),
    setDefaults: (object, { keepNulls = false } = {}) => {
      setDefaults(object, node);
      if (!keepNulls) dropNulls(object, node);
    },
    validate: (object, old, scale = [], warn = undefined) =>
      rulesAfter([...validateValue(object, node, '', old), ...scale], object, old, warn),
    validateRules: rulesAfter,
  };
}
