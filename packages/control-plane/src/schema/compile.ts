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
   * Removes fields outside of the schema, and returns their sorted paths, for example `spec.foo`.
   * Fields below `x-kubernetes-preserve-unknown-fields` stay. In an embedded resource, the fields apiVersion, kind and
   * metadata stay. Mutates the object.
   */
  prune(object: ApiObject): string[];
  /** Returns the paths that {@link prune} would remove, for strict field validation. Does not mutate. */
  unknownFields(object: ApiObject): string[];
  /**
   * If a field does not allow null, its default replaces a null. A null without a default is removed. With `keepNulls`
   * (server-side apply), nulls remain. Mutates the object.
   */
  setDefaults(object: ApiObject, options?: { readonly keepNulls?: boolean }): void;
  /**
   * The order of the errors is the order of kube-apiserver: types, formats, limits, required fields and enums, then
   * `scale`, list keys and CEL rules. With `old`, transition rules are evaluated, and rule errors of an unchanged value
   * go to `warn`.
   */
  validate(
    object: ApiObject,
    old?: ApiObject,
    scale?: readonly StatusCause[],
    warn?: (text: string) => void,
  ): StatusCause[];
  /**
   * Returns the errors in `earlier`, and then the errors of list keys and CEL rules. Writes that do not validate types
   * call `validateRules`.
   */
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

/** A schema is compiled once, so that the operations on objects are fast. CEL rules are compiled at their first use. */
export function compileSchema(schema: JsonSchema, options: { celRules?: boolean } = {}): CompiledSchema {
  const node = nodeOf(schema);
  const rulesAfter: CompiledSchema['validateRules'] = (earlier, object, old, warn) => {
    const causes = [...earlier];
    const lists = validateLists(object, node, '', []);
    // An invalid list may be stored again if the old list is invalid too (ratcheting of kube-apiserver).
    if (lists.length > 0 && (old === undefined || validateLists(old, node, '', []).length === 0)) causes.push(...lists);
    if (options.celRules === false || !node.rulesBelow) return causes;
    // A separate check reports a missing name. Rules are not evaluated for an object without its required fields.
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
