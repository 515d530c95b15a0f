import { type KubeObject, keyOf } from '../contract/objects.ts';
import type { Fault } from '../contract/shape.ts';

const known = new WeakMap<object, readonly Fault[]>();

/** Remembers what was wrong with a stored object; nothing for one without faults. */
export function noteFaults(object: object, faults: readonly Fault[]): void {
  if (faults.length > 0) known.set(object, faults);
}

/** What is wrong with an object of a cache, which shows it repaired. */
export const faultsOf = (object: object | undefined): readonly Fault[] =>
  (object === undefined ? undefined : known.get(object)) ?? [];

/**
 * Whether nothing may be decided from what an object says: a part of what is wanted of it is a guess. A status that is
 * malformed holds nothing up: its controller writes it again.
 */
export const isHeld = (object: object | undefined): boolean =>
  faultsOf(object).some(({ field, guessed }) => guessed && field !== 'status' && !field.startsWith('status.'));

/** Faults that one sentence names. */
const TOLD = 5;

/** What is wrong with an object of a cache, and the fix, for logs and events; undefined: nothing. */
export function faultText(object: KubeObject): string | undefined {
  const faults = faultsOf(object);
  if (faults.length === 0) return undefined;
  const told = faults.slice(0, TOLD).map(({ field, problem }) => `${field} ${problem}`);
  const more = faults.length > TOLD ? [`and ${faults.length - TOLD} more`] : [];
  const until = isHeld(object) ? 'no controller acts on the object until then' : 'the rest of the object holds';
  return `${object.kind} ${keyOf(object)} is malformed: ${[...told, ...more].join('; ')}. Correct the named fields; ${until}`;
}
