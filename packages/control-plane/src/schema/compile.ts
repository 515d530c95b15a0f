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

/** The operations of one schema on whole objects. */
export interface CompiledSchema {
  /** The schema as it is walked. */
  readonly node: SchemaNode;
  /**
   * Removes the fields that the schema does not know, honouring `x-kubernetes-preserve-unknown-fields` and embedded
   * resources; returns their paths, e.g. `spec.foo`, sorted. Mutates. apiVersion, kind and metadata are left alone.
   */
  prune(object: ApiObject): string[];
  /** The same without mutating, for strict field validation. */
  unknownFields(object: ApiObject): string[];
  /**
   * Structural defaults; a null in a field that is not nullable takes the default or is dropped, except with `keepNulls` (server-side apply).
   * Mutates.
   */
  setDefaults(object: ApiObject, options?: { readonly keepNulls?: boolean }): void;
  /**
   * Types, formats, limits, required fields, enums, then errors of `scale`, list keys, CEL rules (transition rules with `old`): the
   * order of kube-apiserver's causes. `warn` gets what rules say of values that stood there before.
   */
  validate(
    object: ApiObject,
    old?: ApiObject,
    scale?: readonly StatusCause[],
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

/** Compiles a schema once; every operation of the result is cheap per object. CEL rules are compiled at their first use. */
export function compileSchema(schema: JsonSchema, options: { celRules?: boolean } = {}): CompiledSchema {
  const node = nodeOf(schema);
  return {
    node,
    prune: (object) => unknown(object, schema, false),
    unknownFields: (object) => unknown(object, schema, true),
    setDefaults: (object, { keepNulls = false } = {}) => {
      setDefaults(object, node);
      if (!keepNulls) dropNulls(object, node);
    },
    validate: (object, old, scale = [], warn = undefined) => {
      const causes = [...validateValue(object, node, '', old), ...scale];
      const lists = validateLists(object, node, '', []);
      // A list that was already broken may be stored again (ratcheting of kube-apiserver).
      if (lists.length > 0 && (old === undefined || validateLists(old, node, '', []).length === 0))
        causes.push(...lists);
      if (options.celRules === false || !node.rulesBelow) return causes;
      // A missing name is complained about elsewhere, but as a missing field it blocks the rules like any other.
      const isNameless = (object.metadata.name ?? '') === '';
      if (isNameless || causes.some((cause) => BLOCKING.has(cause.reason ?? ''))) {
        causes.push(invalid(NO_FIELD, null, RULES_NOT_CHECKED));
        return causes;
      }
      causes.push(...validateRules(object, old, node, warn));
      return causes;
    },
  };
}
