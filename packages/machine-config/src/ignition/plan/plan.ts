import * as z from 'zod';

interface ListRule {
  readonly key?: (entry: never) => string;
  /**
   * The name of a group of lists. An entry of one list removes entries with an equal key from the other lists of the
   * group.
   */
  readonly shared?: string;
  readonly append?: true;
}

const rules = new WeakMap<z.ZodType, ListRule>();

export function list<T extends z.ZodType>(
  entry: T,
  rule: { key?: (entry: z.output<T>) => string; shared?: string; append?: true } = {},
) {
  const schema = z.array(entry);
  rules.set(schema, rule as ListRule);
  return z.exactOptional(schema);
}

export interface FieldPlan {
  readonly name: string;
  readonly plan: Plan;
  readonly required: boolean;
}

export type Plan =
  | { readonly kind: 'boolean' }
  | { readonly kind: 'string'; readonly accepts?: (text: string) => boolean }
  | { readonly kind: 'integer'; readonly accepts?: (number: number) => boolean }
  | { readonly kind: 'list'; readonly entry: Plan; readonly rule: ListRule }
  | {
      readonly kind: 'object';
      readonly fields: readonly FieldPlan[];
      readonly byName: ReadonlyMap<string, FieldPlan>;
    };

/**
 * Returns the plan of a schema.
 * @throws Error for a schema that does not consist of objects, lists, strings, integers and booleans
 */
export function planOf(schema: z.ZodType): Plan {
  if (schema instanceof z.ZodExactOptional) return planOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) {
    return { kind: 'list', entry: planOf(schema.element as z.ZodType), rule: rules.get(schema) ?? {} };
  }
  if (schema instanceof z.ZodObject) return objectPlan(fieldsOf(schema));
  if (schema instanceof z.ZodString) return { kind: 'string' };
  if (schema instanceof z.ZodNumber) return { kind: 'integer' };
  if (schema instanceof z.ZodBoolean) return { kind: 'boolean' };
  throw new Error(`no decoder for a schema of type ${schema.def.type}`);
}

const fieldsOf = (schema: z.ZodObject): readonly FieldPlan[] =>
  Object.entries(schema.shape).map(([name, inner]) => {
    const optional = inner instanceof z.ZodExactOptional;
    return { name, plan: planOf(inner as z.ZodType), required: !optional };
  });

export function objectPlan(fields: readonly FieldPlan[]): Plan {
  const byName = new Map(
    fields.flatMap((field) => [
      [field.name, field],
      [field.name.toLowerCase(), field],
    ]),
  );
  return { kind: 'object', fields, byName };
}
