import { isRecord, nearest } from '@mcm/kube';
import type { z } from 'zod';
import { issueText } from '../../values/issue-text.ts';
import { pathText } from './decode.ts';

/** A decoded JSON document that contains only the keys of a schema. */
export interface Folded {
  readonly value: unknown;
  /** The keys that the schema does not declare, such as `.networkInterfaces[0].subnet`. */
  readonly unknown: readonly { readonly path: string; readonly nearest?: string }[];
}

interface Definition {
  readonly type: string;
  readonly innerType?: { readonly def: Definition };
  readonly element?: { readonly def: Definition };
  readonly valueType?: { readonly def: Definition };
  readonly shape?: Readonly<Record<string, { readonly def: Definition }>>;
}

/** The zero values of Go types. Go does not distinguish an absent value from the zero value. */
const ZERO: Readonly<Record<string, unknown>> = { string: '', number: 0, int: 0, boolean: false };

const unwrap = (definition: Definition): Definition =>
  definition.innerType ? unwrap(definition.innerType.def) : definition;

const zeroOf = (definition: Definition): unknown => (definition.type === 'object' ? {} : ZERO[definition.type]);

/**
 * Decodes a value in the same way as Go, for example null as an empty object. An absent value stays absent, so that the
 * schema can reject the missing field.
 */
export function foldGoJson(schema: z.ZodType, value: unknown): Folded {
  const unknown: { path: string; nearest?: string }[] = [];
  return { value: fold(schema.def as Definition, value, '', unknown), unknown };
}

/**
 * Decodes a value like Go, for example null as an empty object. Returns undefined for an absent value, so that the
 * schema can reject the missing field.
 */
export const readGoJson = (schema: z.ZodType, value: unknown): unknown =>
  value === undefined ? undefined : (foldGoJson(schema, value).value ?? {});

/** Returns one sentence for each zod issue. */
export const specTypeProblems = (providerSpec: unknown, issues: readonly z.core.$ZodIssue[]): readonly string[] =>
  providerSpec === undefined
    ? ['providerSpec: is missing; add the field']
    : issues.map((issue) => `providerSpec${pathText(issue.path)}: ${issueText(issue)}`);

function fold(
  wrapped: Definition,
  value: unknown,
  path: string,
  unknown: { path: string; nearest?: string | undefined }[],
): unknown {
  const definition = unwrap(wrapped);
  if (value === null) return undefined;
  const element = definition.element?.def;
  if (element && Array.isArray(value))
    return value.map((each, i) =>
      each === null ? zeroOf(unwrap(element)) : fold(element, each, `${path}[${i}]`, unknown),
    );
  const valueType = definition.valueType?.def;
  if (valueType && isRecord(value)) {
    const entry = (key: string, each: unknown): unknown =>
      each === null ? zeroOf(unwrap(valueType)) : fold(valueType, each, `${path}.${key}`, unknown);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, entry(key, each)]));
  }
  if (definition.shape && isRecord(value)) return foldObject(definition.shape, value, path, unknown);
  return value;
}

function foldObject(
  shape: Readonly<Record<string, { readonly def: Definition }>>,
  value: Record<string, unknown>,
  path: string,
  unknown: { path: string; nearest?: string | undefined }[],
): Record<string, unknown> {
  const names = Object.keys(shape);
  const result: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) {
    const name = names.find((known) => known === key) ?? names.find((known) => sameFold(known, key));
    const field = name === undefined ? undefined : shape[name];
    if (name === undefined || !field) {
      const near = nearest(key, names);
      unknown.push({ path: `${path}.${key}`, nearest: near });
      continue;
    }
    const folded = fold(field.def, each, `${path}.${name}`, unknown);
    if (folded === undefined) continue;
    const before = result[name];
    result[name] = isRecord(before) && isRecord(folded) ? { ...before, ...folded } : folded;
  }
  return result;
}

/** Go compares keys without letter case, and the long s (U+017F) equals the letter s. */
const folded = (key: string): string => key.replaceAll('\u017f', 's').toLowerCase();
const sameFold = (a: string, b: string): boolean => folded(a) === folded(b);
