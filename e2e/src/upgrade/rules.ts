/** Schema keywords that refuse values or set defaults. The schemas of the original contain none of these keywords. */
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
