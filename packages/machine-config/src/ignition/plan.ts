import * as z from 'zod';

/** How entries of two lists are told to be the same. */
export interface ListRule {
  /** Key of an entry; entries with the same key are merged. */
  readonly key?: (entry: never) => string;
  /** Lists of one object that share their key space, by name: an entry of one removes that of another. */
  readonly shared?: string;
  /** Lists are appended, equal entries included. */
  readonly append?: true;
}

const rules = new WeakMap<z.ZodType, ListRule>();

/** A list with a merge rule. The rule travels beside the schema, since it is none of JSON's. */
export function list<T extends z.ZodType>(
  entry: T,
  rule: { key?: (entry: z.output<T>) => string; shared?: string; append?: true } = {},
) {
  const schema = z.array(entry);
  rules.set(schema, rule as ListRule);
  return z.exactOptional(schema);
}

/** A field of an object. */
export interface FieldPlan {
  readonly name: string;
  readonly plan: Plan;
  /** Go's zero value is written although it is zero: names, paths, devices. */
  readonly required: boolean;
}

/** What decoding, merging and checking need to know of a schema, worked out once. */
export type Plan =
  | { readonly kind: 'boolean' }
  /** A text or number that `accepts` refuses cannot be decoded. */
  | { readonly kind: 'string'; readonly accepts?: (text: string) => boolean }
  | { readonly kind: 'integer'; readonly accepts?: (number: number) => boolean }
  | { readonly kind: 'list'; readonly entry: Plan; readonly rule: ListRule }
  | {
      readonly kind: 'object';
      readonly fields: readonly FieldPlan[];
      /** By lower-case name: keys are matched without regard to case. */
      readonly byName: ReadonlyMap<string, FieldPlan>;
    };

/** The plan of a schema made of objects, lists, strings, integers and booleans. @throws Error for any other */
export function planOf(schema: z.ZodType): Plan {
  if (schema instanceof z.ZodExactOptional) return planOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) {
    return { kind: 'list', entry: planOf(schema.element as z.ZodType), rule: rules.get(schema) ?? {} };
  }
  if (schema instanceof z.ZodObject) return objectPlan(fieldsOf(schema));
  if (schema instanceof z.ZodString) return { kind: 'string' };
  if (schema instanceof z.ZodNumber) return { kind: 'integer' };
  if (schema instanceof z.ZodBoolean) return { kind: 'boolean' };
  throw new Error(`no plan for a schema of type ${schema.def.type}`);
}

const fieldsOf = (schema: z.ZodObject): readonly FieldPlan[] =>
  Object.entries(schema.shape).map(([name, inner]) => {
    const optional = inner instanceof z.ZodExactOptional;
    return { name, plan: planOf(inner as z.ZodType), required: !optional };
  });

/** The plan of an object with these fields. */
export function objectPlan(fields: readonly FieldPlan[]): Plan {
  const byName = new Map(
    fields.flatMap((field) => [
      [field.name, field],
      [field.name.toLowerCase(), field],
    ]),
  );
  return { kind: 'object', fields, byName };
}
