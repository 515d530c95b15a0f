import { stringifyJson } from '../objects/json.ts';
import { isNumber } from '../objects/json-value.ts';
import type { StatusCause } from '../objects/status.ts';
import { invalidValue } from './errors.ts';

export const duplicateValue = (field: string, value: unknown): StatusCause => ({
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${stringifyJson(value)}`,
  field,
});

export const tooMany = (field: string, actual: number, most: number): StatusCause => ({
  reason: 'FieldValueTooMany',
  message: `Too many: ${actual}: must have at most ${most} items`,
  field,
});

export const notFoundValue = (field: string, value: unknown, message = ''): StatusCause => ({
  reason: 'FieldValueNotFound',
  message: `Not found: ${stringifyJson(value)}${message === '' ? '' : `: ${message}`}`,
  field,
});

export const rangeCauses = (field: string, value: number | bigint, low: number, high: number): StatusCause[] =>
  value >= low && value <= high ? [] : [invalidValue(field, value, `must be between ${low} and ${high}, inclusive`)];

export const portCauses = (field: string, port: number): StatusCause[] => rangeCauses(field, port, 1, 65_535);

export const negativeCauses = (field: string, value: unknown): StatusCause[] =>
  isNumber(value) && value < 0 ? [invalidValue(field, value, 'must be greater than or equal to 0')] : [];
