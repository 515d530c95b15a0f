/** Schema keywords that refuse values or set defaults. */
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

export const isRule = (key: string, value: unknown): boolean =>
  RULES.has(key) && (typeof value !== 'object' || value === null || Array.isArray(value));
