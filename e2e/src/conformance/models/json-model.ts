import { readFileSync } from 'node:fs';
import { isRecord } from '@mcm/kube';

type FieldType = string | readonly [FieldType] | { readonly '*': FieldType };
export type Model = Readonly<Record<string, Readonly<Record<string, FieldType>> | 'any'>>;

/** Returns the types from the official library of a cloud (see `e2e/testdata/models`). */
export const readModel = (name: string): Model =>
  JSON.parse(readFileSync(new URL(`../../../testdata/models/${name}.json`, import.meta.url), 'utf8'));

const SCALARS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  int32: (value) => Number.isInteger(value),
  uint32: (value) => Number.isInteger(value) && Number(value) >= 0,
  float: (value) => typeof value === 'number',
  double: (value) => typeof value === 'number',
  // In JSON, a 64-bit integer is a string, because it is too large for a number in JavaScript.
  int64: (value) => typeof value === 'string' && /^-?\d+$/.test(value),
  uint64: (value) => typeof value === 'string' && /^\d+$/.test(value),
  any: () => true,
};

/**
 * Returns a line for each difference between a value and the model, such as
 * `disks[0].size: is no field of AttachedDisk`.
 */
export function differences(model: Model, type: FieldType, value: unknown, path = ''): readonly string[] {
  if (Array.isArray(type))
    return Array.isArray(value)
      ? value.flatMap((each, i) => differences(model, type[0], each, `${path}[${i}]`))
      : [`${path}: is not a list`];
  if (typeof type === 'object')
    return isRecord(value)
      ? Object.entries(value).flatMap(([key, each]) =>
          differences(model, (type as { '*': FieldType })['*'], each, `${path}.${key}`),
        )
      : [`${path}: is not a map`];
  const scalar = SCALARS[type as string];
  if (scalar) return scalar(value) ? [] : [`${path}: ${JSON.stringify(value)} is no ${String(type)}`];
  const fields = model[type as string];
  if (fields === 'any') return [];
  if (fields === undefined) return [`${path}: the model does not contain ${String(type)}`];
  if (!isRecord(value)) return [`${path}: is no ${String(type)}`];
  return Object.entries(value).flatMap(([key, each]) => {
    const field = fields[key];
    return field === undefined
      ? [`${path}.${key}: is not a field of ${String(type)}`]
      : differences(model, field, each, `${path}.${key}`);
  });
}
