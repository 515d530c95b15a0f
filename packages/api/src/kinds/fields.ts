import * as z from 'zod';
import { DURATION_PATTERN, parseDurationNs } from '../values/duration.ts';
import { INT_OR_PERCENT_PATTERN } from '../values/int-or-percent.ts';
import { parseQuantity, QUANTITY_PATTERN } from '../values/quantity.ts';
import type { ObjectMeta } from './object-meta.ts';

/** The largest int32; with a larger number in one object, the original could not list any object of its kind. */
const MAX_INT32 = 2_147_483_647;

/** A CEL rule of `x-kubernetes-validations`. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** The path of the field in the error, such as `.name`, relative to the object with the rule. */
  readonly fieldPath?: string;
  readonly reason?: 'FieldValueInvalid' | 'FieldValueRequired' | 'FieldValueForbidden' | 'FieldValueDuplicate';
}

/** Keywords of the CRD that a zod type cannot express. */
export interface CrdKeywords {
  readonly description?: string;
  readonly format?: 'date-time' | 'int32' | 'int64';
  readonly default?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
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

/**
 * Makes a field optional. An optional field does not allow the value undefined, because JSON has no undefined value.
 */
export const optional = z.exactOptional;

/** A string. */
export const text = (description: string) => z.string().meta({ description });

/** A boolean. */
export const flag = (description: string) => z.boolean().meta({ description });

/**
 * Returns the schema of a text with a list of known values. The CRD accepts unknown values, because a newer controller
 * may write them.
 */
export const knownText = <const T extends string>(description: string): z.ZodType<T, T> =>
  z.string().meta({ description }) as z.ZodType<string> as z.ZodType<T, T>;

/** Returns the schema of an RFC 3339 time. */
export const time = (description: string) => crd(z.string(), { description, format: 'date-time' });

/** Returns the schema of a number that users set, from 0 to the largest int32. */
export const count = (description: string, keywords: CrdKeywords = {}) =>
  crd(z.int().min(0).max(MAX_INT32), { description, format: 'int32', ...keywords });

/**
 * Returns the schema of an int32 that controllers write. A status field has no limits, because a user cannot fix a
 * refused status.
 */
export const int32 = (description: string) => crd(z.int(), { description, format: 'int32' });

/** Returns the schema of an int64 that controllers write. */
export const int64 = (description: string) => crd(z.int(), { description, format: 'int64' });

const DURATION_ERROR = 'must be a duration such as "1h30m", "20m" or "90s", from 0s to about 2562047h';
const QUANTITY_ERROR = 'must be a quantity such as "4", "500m" or "16Gi"';
const INT_OR_PERCENT_ERROR = 'must be an integer of 0 or more, or a percentage such as "25%"';

// If a value violates a pattern, the API server reports only the regular expression. If a value violates a CEL rule, the
// API server reports the readable text of the rule. So a CEL rule repeats each pattern. Tools without CEL evaluate only the
// pattern of a field.

const isDuration = (value: string): boolean =>
  value.length <= 64 && DURATION_PATTERN.test(value) && parseDurationNs(value) !== undefined;

/**
 * Returns the schema of a duration in Go's syntax. A CEL rule refuses durations above an int64 of nanoseconds, because
 * a pattern cannot express this limit.
 */
export const duration = (description: string) =>
  crd(
    z.string().refine(isDuration, {
      error: DURATION_ERROR,
    }),
    {
      description: `${description} The value is a Go duration such as \`1h30m\` or \`20m\`.`,
      pattern: DURATION_PATTERN.source,
      maxLength: 64,
      'x-kubernetes-validations': [
        {
          rule: `self.matches('${DURATION_PATTERN.source}') && duration(self) <= duration('2562047h47m16s')`,
          message: DURATION_ERROR,
        },
      ],
    },
  );

/** A resource quantity. */
export const quantity = (description: string) =>
  crd(
    z
      .union([z.int(), z.string()], { error: QUANTITY_ERROR })
      .refine((value) => parseQuantity(value) !== undefined, { error: QUANTITY_ERROR }),
    {
      description,
      pattern: QUANTITY_PATTERN.source,
      maxLength: 128,
      'x-kubernetes-int-or-string': true,
      'x-kubernetes-validations': [
        { rule: `type(self) == int || string(self).matches('${QUANTITY_PATTERN.source}')`, message: QUANTITY_ERROR },
      ],
    },
  );

const isIntOrPercent = (value: number | string): boolean =>
  typeof value === 'number'
    ? value >= 0 && value <= MAX_INT32
    : value.length <= 10 && INT_OR_PERCENT_PATTERN.test(value);

/** A count or a percentage of the replicas. */
export const intOrPercent = (description: string, keywords: CrdKeywords = {}) =>
  crd(
    z
      .union([z.int(), z.string()], { error: INT_OR_PERCENT_ERROR })
      .refine(isIntOrPercent, { error: INT_OR_PERCENT_ERROR }),
    {
      description,
      pattern: INT_OR_PERCENT_PATTERN.source,
      maxLength: 10,
      minimum: 0,
      maximum: MAX_INT32,
      'x-kubernetes-int-or-string': true,
      'x-kubernetes-validations': [
        {
          rule: `type(self) == int ? int(self) >= 0 : string(self).matches('${INT_OR_PERCENT_PATTERN.source}')`,
          message: INT_OR_PERCENT_ERROR,
        },
      ],
      ...keywords,
    },
  );

/** Returns the schema of a map of strings, such as labels. */
export const stringMap = (description: string, keywords: CrdKeywords = {}) =>
  crd(z.record(z.string(), z.string()), { description, ...keywords });

// Source: k8s.io/apimachinery, pkg/util/validation (IsValidLabelValue, IsQualifiedName).
const LABEL_VALUE_PATTERN = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const LABEL_KEY_PATTERN =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;
const LABEL_KEY_SOURCE = LABEL_KEY_PATTERN.source.replace('\\/', '/');
const LABEL_KEY_ERROR = 'must have label keys such as "app" or "example.com/app"';

const isLabelValue = (value: string): boolean => value.length <= 63 && LABEL_VALUE_PATTERN.test(value);

const isLabelKey = (key: string): boolean => key.indexOf('/') <= 253 && LABEL_KEY_PATTERN.test(key);

export const labelValue = () =>
  crd(
    z.string().refine(isLabelValue, {
      error: 'must be at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends',
    }),
    { pattern: LABEL_VALUE_PATTERN.source, maxLength: 63 },
  );

export const labelKey = (description: string) =>
  crd(z.string().refine(isLabelKey, { error: 'must be a label key such as "app" or "example.com/app"' }), {
    description,
    pattern: LABEL_KEY_SOURCE,
    maxLength: 317,
  });

/**
 * Returns the schema of a map of labels. The map of labels has a maximum size, because CEL rules iterate over its
 * entries.
 */
export const labelMap = (description: string, maxProperties = 256) =>
  crd(
    z
      .record(z.string(), labelValue())
      .refine((labels) => Object.keys(labels).every(isLabelKey), { error: LABEL_KEY_ERROR }),
    {
      description,
      maxProperties,
      'x-kubernetes-validations': [
        { rule: `self.all(k, size(k) <= 317 && k.matches('${LABEL_KEY_SOURCE}'))`, message: LABEL_KEY_ERROR },
      ],
    },
  );

/**
 * The schema of metadata. The CRD declares metadata only as `type: object`, because the API server checks metadata
 * itself.
 */
export const objectMeta = z.looseObject({}) as z.ZodType as z.ZodType<ObjectMeta, ObjectMeta>;
