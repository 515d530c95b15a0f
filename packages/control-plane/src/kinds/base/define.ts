import type { JsonSchema, KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { definitionSchema } from '../../resources/schemas.ts';
import { roundTrip } from '../../resources/shape.ts';

export interface BuiltinKind
  extends Partial<Omit<KindDefinition, 'group' | 'kind' | 'plural' | 'namespaced' | 'schema' | 'custom'>> {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly model?: string;
}

/** Defines a built-in kind. The first use of the schema creates the schema. */
export const defineKind = (facts: BuiltinKind): KindDefinition => {
  const { model = `V1${facts.kind}`, setDefaults, ...rest } = facts;
  return {
    version: 'v1',
    listKind: `${facts.kind}List`,
    singular: facts.kind.toLowerCase(),
    custom: false,
    ...rest,
    model,
    setDefaults(object) {
      roundTrip(object, model);
      setDefaults?.(object);
    },
    get schema(): JsonSchema {
      return definitionSchema(model);
    },
  };
};

/** The server supports only `create` for reviews, and stores no reviews. */
export const defineReview = (facts: BuiltinKind): KindDefinition => defineKind({ verbs: ['create'], ...facts });

/** Returns a function that reads a field for field selectors. For an absent field, the function returns ''. */
export const fieldAt = (path: string): ((object: ApiObject) => string) => {
  const steps = path.split('.');
  return (object) => {
    let value: unknown = object;
    for (const step of steps) {
      if (typeof value !== 'object' || value === null) return '';
      value = (value as Record<string, unknown>)[step];
    }
    return value === undefined || value === null ? '' : String(value);
  };
};

/** Returns a function that reads a field. In Go, an absent boolean is `false` and an absent number is `0`. */
export const fieldOr = (path: string, absent: string): ((object: ApiObject) => string) => {
  const read = fieldAt(path);
  return (object) => read(object) || absent;
};

export const fieldsAt = (...paths: string[]): Record<string, (object: ApiObject) => string> =>
  Object.fromEntries(paths.map((path) => [path, fieldAt(path)]));
