import { CelRuntimeError, DataMap, Duration, isMap, Timestamp, Uint } from './values.ts';

const exact = (value: bigint): number | bigint => {
  const rounded = Number(value);
  return Number.isSafeInteger(rounded) ? rounded : value;
};

/** @throws CelRuntimeError if JSON cannot represent the value */
export function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return exact(value);
  if (value instanceof Uint) return exact(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp) {
    return new Date(Number(value.nanos / 1_000_000n)).toISOString().replace(/\.000Z$/, 'Z');
  }
  if (value instanceof Duration) return `${Number(value.nanos) / 1e9}s`;
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof DataMap) return value.data;
  if (isMap(value)) return Object.fromEntries(value.keys().map((key) => [String(key), toJson(value.get(key))]));
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value;
  throw new CelRuntimeError('a value of an expression has no form in JSON');
}
