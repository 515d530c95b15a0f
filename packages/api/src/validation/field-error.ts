import type * as z from 'zod';

/** The type of an error: an absent field, an invalid value, or a value that is not in the list of allowed values. */
export type FieldErrorType = 'FieldValueRequired' | 'FieldValueInvalid' | 'FieldValueNotSupported';

/** One error of an object. */
export interface FieldError {
  /**
   * The path of the invalid field, such as `spec.template.spec.class.name` or
   * `spec.selector.matchExpressions[0].operator`.
   */
  readonly path: string;
  readonly type: FieldErrorType;
  /** The text about the allowed values, which follows the path: `spec.replicas: must be …`. */
  readonly message: string;
}

/** Formats errors as one sentence for a log line, a condition or an event. */
export const formatFieldErrors = (errors: readonly FieldError[]): string =>
  errors.map(({ path, message }) => `${path}: ${message}`).join('; ');

export const required = (path: string, message: string): FieldError => ({ path, type: 'FieldValueRequired', message });
export const invalid = (path: string, message: string): FieldError => ({ path, type: 'FieldValueInvalid', message });

/** Returns the path of a field in the format of Kubernetes. */
function fieldPath(base: string, elements: readonly PropertyKey[]): string {
  return elements.reduce<string>((path, element) => {
    if (typeof element === 'number') return `${path}[${element}]`;
    const name = String(element);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `${path}[${name}]`;
    return path === '' ? name : `${path}.${name}`;
  }, base);
}

export function formErrors(schema: z.ZodType, value: unknown, base: string): FieldError[] {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return [];
  return parsed.error.issues.map((issue) => {
    const path = fieldPath(base, issue.path);
    if (issue.input === undefined) return required(path, 'must be set');
    const type = issue.code === 'invalid_value' ? 'FieldValueNotSupported' : 'FieldValueInvalid';
    return { path, type, message: describe(issue) };
  });
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a string',
  int: 'an integer',
  number: 'an integer', // All numbers in the kinds of this API group are integers.
  boolean: 'true or false',
  array: 'a list',
  record: 'a map',
  object: 'an object',
};

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `must be ${NOUNS[issue.expected] ?? issue.expected}`;
  if (issue.code === 'too_small' && issue.origin !== 'string') return `must be ${issue.minimum} or more`;
  if (issue.code === 'too_big' && issue.origin !== 'string') return `must be at most ${issue.maximum}`;
  return issue.message;
}

/** The rule runs only if these fields conform to the schema, because schema errors are reported separately. */
export type Rule = (value: unknown) => FieldError[];

export const rule =
  <T>(view: z.ZodType<T>, check: (value: T) => FieldError[]): Rule =>
  (value) => {
    const seen = view.safeParse(value);
    return seen.success ? check(seen.data) : [];
  };

const specOf = (object: unknown): unknown =>
  typeof object === 'object' && object !== null && 'spec' in object ? object.spec : undefined;

export function specErrors(object: unknown, schema: z.ZodType, rules: readonly Rule[]): FieldError[] {
  const spec = specOf(object);
  const form = formErrors(schema, spec, 'spec');
  const paths = new Set(form.map(({ path }) => path));
  // Reports one error for each field.
  return [...form, ...rules.flatMap((check) => check(spec)).filter(({ path }) => !paths.has(path))];
}
