/** Arrays and null are not objects. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An integer above 2^53 is a bigint. */
export const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

/** For a name such as `constructor`, the function does not return the value of the prototype. */
export const own = (object: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** Sets an own property, even if its name is `__proto__`. */
export const put = (object: Record<string, unknown>, key: string, value: unknown): void => {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
};

export function cloneJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(cloneJson) as T;
  if (!isRecord(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) put(copy, key, cloneJson(value[key]));
  return copy as T;
}

/**
 * Compares two numbers, one of which is a bigint. An integer with a fraction or exponent in its JSON text is a double.
 */
const sameNumber = (a: unknown, b: unknown): boolean => {
  const [large, other] = typeof a === 'bigint' ? [a, b] : [b, a];
  return typeof other === 'number' && Number.isInteger(other) && BigInt(other) === large;
};

export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a === 'bigint' || typeof b === 'bigint') return sameNumber(a, b);
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equalJson(a[i], b[i])) return false;
    return true;
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) if (!Object.hasOwn(b, key) || !equalJson(a[key], b[key])) return false;
  return true;
}

/** Formats a value as JSON with sorted keys, as Go does for maps. */
export function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  if (typeof value === 'bigint') return value.toString();
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    if (value[key] !== undefined) parts.push(`${JSON.stringify(key)}:${sortedJson(value[key])}`);
  }
  return `{${parts.join(',')}}`;
}

/** Formats JSON like the encoder of Go: with sorted keys, and with `<`, `>` and `&` escaped. */
export const goJson = (value: unknown): string =>
  sortedJson(value).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Returns the number of UTF-8 bytes of `goJson(value)`, but does not create the text. */
export function goJsonBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(goJson(value));
  if (Array.isArray(value)) {
    let bytes = 1 + Math.max(1, value.length);
    for (const item of value) bytes += goJsonBytes(item);
    return bytes;
  }
  if (!isRecord(value)) return sortedJson(value).length;
  const keys = Object.keys(value);
  let bytes = 1 + Math.max(1, keys.length);
  for (const key of keys) bytes += goJsonBytes(key) + 1 + goJsonBytes(value[key]);
  return bytes;
}
