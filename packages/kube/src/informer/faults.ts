import { type KubeObject, keyOf } from '../contract/objects.ts';
import type { Fault } from '../contract/shape.ts';

const known = new WeakMap<object, readonly Fault[]>();

export function noteFaults(object: object, faults: readonly Fault[]): void {
  if (faults.length > 0) known.set(object, faults);
}

/** Returns the faults of a cached object. The cache contains a repaired copy of an object with faults. */
export const faultsOf = (object: object | undefined): readonly Fault[] =>
  (object === undefined ? undefined : known.get(object)) ?? [];

/**
 * Returns true if the repair of the object's spec or metadata is a guess. Controllers must not act on a guess. Faults
 * in the status do not count, because the controller overwrites the status.
 */
export const isHeld = (object: object | undefined): boolean =>
  faultsOf(object).some(({ field, guessed }) => guessed && field !== 'status' && !field.startsWith('status.'));

const REPORTED_FAULTS = 5;

/** Returns a text for logs and events. The text contains the faults of an object, and how to fix them. */
export function faultText(object: KubeObject): string | undefined {
  const faults = faultsOf(object);
  if (faults.length === 0) return undefined;
  const reported = faults.slice(0, REPORTED_FAULTS).map(({ field, problem }) => `${field} ${problem}`);
  const more = faults.length > REPORTED_FAULTS ? [`and ${faults.length - REPORTED_FAULTS} more`] : [];
  const until = isHeld(object)
    ? 'no controller acts on the object until the fields are correct'
    : 'the controllers use the other fields of the object';
  return `${object.kind} ${keyOf(object)} is malformed: ${[...reported, ...more].join('; ')}. Correct the named fields; ${until}`;
}
