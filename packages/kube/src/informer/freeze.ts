/** Freezes a value of JSON in depth, so that a write to a shared object throws. For tests: it costs a walk over each object. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}
