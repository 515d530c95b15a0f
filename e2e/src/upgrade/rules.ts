/** Keywords of a schema that refuse or complete; the original's schemas have none of them. */
const RULES: ReadonlySet<string> = new Set([
  'default',
  'enum',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'pattern',
  'required',
  'x-kubernetes-validations',
]);

/** Whether a key of a schema is a keyword and not the name of a field. */
export const isRule = (key: string, value: unknown): boolean =>
  RULES.has(key) && (typeof value !== 'object' || value === null || Array.isArray(value));
