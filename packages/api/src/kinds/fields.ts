import * as z from 'zod';
import { DURATION_PATTERN } from '../values/duration.ts';
import { INT_OR_PERCENT_PATTERN } from '../values/int-or-percent.ts';
import { QUANTITY_PATTERN } from '../values/quantity.ts';
import type { ObjectMeta } from './object-meta.ts';

/** Largest int32: counters beyond it would make the original's typed list fail for the whole kind. */
export const MAX_INT32 = 2_147_483_647;

/** A CEL rule of `x-kubernetes-validations`; the message says what is allowed. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** A field below the rule's own object that the error is reported for, such as `.name`. */
  readonly fieldPath?: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueRequired' | 'FieldValueForbidden' | 'FieldValueDuplicate';
}

/** Keywords that the CRD takes over besides those that follow from the zod type. */
export interface CrdKeywords {
  readonly description?: string;
  readonly format?: 'date-time' | 'int32' | 'int64';
  readonly default?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-int-or-string'?: true;
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set';
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

/** Adds CRD keywords to a schema. */
export const crd = <T extends z.ZodType>(schema: T, keywords: CrdKeywords): T => schema.meta({ ...keywords });

/** A schema that may be absent; present-but-undefined is not a value that JSON knows. */
export const optional = z.exactOptional;

/** A string. */
export const text = (description: string) => z.string().meta({ description });

/** A boolean. */
export const flag = (description: string) => z.boolean().meta({ description });

/** A string with a list of known values, which the CRD does not enforce: controllers write it, newer ones may add. */
export const knownText = <const T extends string>(description: string): z.ZodType<T, T> =>
  z.string().meta({ description }) as unknown as z.ZodType<T, T>;

/** An RFC 3339 time. */
export const time = (description: string) => crd(z.string(), { description, format: 'date-time' });

/** A counter that users set: 0 to the largest int32. */
export const count = (description: string, keywords: CrdKeywords = {}) =>
  crd(z.int().min(0).max(MAX_INT32), { description, format: 'int32', ...keywords });

/** An int32 that controllers write: not bounded, since refusing a status helps nobody. */
export const int32 = (description: string) => crd(z.int(), { description, format: 'int32' });

/** An int64 that controllers write. */
export const int64 = (description: string) => crd(z.int(), { description, format: 'int64' });

/** A duration in Go's syntax. The rule catches what the pattern cannot: more than an int64 of nanoseconds. */
export const duration = (description: string) =>
  crd(
    z.string().max(64, { error: 'must be at most 64 characters long' }).regex(DURATION_PATTERN, {
      error: 'must be a duration of hours, minutes, seconds such as "1h30m", "20m" or "90s", not negative',
    }),
    {
      description: `${description} A Go duration such as \`1h30m\` or \`20m\`.`,
      'x-kubernetes-validations': [
        { rule: "duration(self) >= duration('0s')", message: 'must be a duration from 0s to about 2562047h' },
      ],
    },
  );

/** A resource quantity. */
export const quantity = (description: string) =>
  crd(
    z.union([z.int(), z.string().regex(QUANTITY_PATTERN)], {
      error: 'must be a quantity such as "4", "500m" or "16Gi"',
    }),
    { description, 'x-kubernetes-int-or-string': true },
  );

/** A count or a percentage of the replicas. */
export const intOrPercent = (description: string, keywords: CrdKeywords = {}) =>
  crd(
    z.union([z.int().min(0).max(MAX_INT32), z.string().max(10).regex(INT_OR_PERCENT_PATTERN)], {
      error: 'must be an integer of 0 or more, or a percentage such as "25%"',
    }),
    { description, 'x-kubernetes-int-or-string': true, ...keywords },
  );

/** A map of strings, such as labels. */
export const stringMap = (description: string, keywords: CrdKeywords = {}) =>
  crd(z.record(z.string(), z.string()), { description, ...keywords });

/** The object's own metadata: the API server owns its schema, so the CRD only says `type: object`. */
export const objectMeta = z.looseObject({}) as unknown as z.ZodType<ObjectMeta, ObjectMeta>;
