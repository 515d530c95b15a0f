import { isRecord } from '@mcm/kube';
import { MachineError } from '../driver/contract/errors.ts';
import type { Json } from './codec.ts';

/** Converts a value to readable JSON. Maps become objects, sets become lists, and errors become texts. */
export function plainJson(value: unknown): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid time' : value.toISOString();
  if (Array.isArray(value)) return value.map(plainJson);
  if (value instanceof Set) return [...value].map(plainJson);
  if (value instanceof Map) return fields([...value].map(([key, each]): [string, unknown] => [String(key), each]));
  if (value instanceof MachineError) return `${value.code}: ${value.message}`;
  return isRecord(value) ? fields(Object.entries(value)) : null;
}

function fields(entries: readonly (readonly [string, unknown])[]): Json {
  const result: Record<string, Json> = Object.create(null);
  for (const [key, value] of entries) if (value !== undefined) result[key] = plainJson(value);
  return result;
}
