import { type KubeObject, keyOf } from '../contract/objects.ts';
import type { Fault } from '../contract/shape.ts';

const known = new WeakMap<object, readonly Fault[]>();

export function noteFaults(object: object, faults: readonly Fault[]): void {
  if (faults.length > 0) known.set(object, faults);
}

/** Returns the faults of a cached object. */
export const faultsOf = (object: object | undefined): readonly Fault[] =>
  (object === undefined ? undefined : known.get(object)) ?? [];

/**
 * Returns true if mcm had to guess a value in the object's spec or metadata, so that controllers must not act on the
 * object.
 */
export const isHeld = (object: object | undefined): boolean =>
  faultsOf(object).some(({ field, guessed }) => guessed && field !== 'status' && !field.startsWith('status.'));

const REPORTED_FAULTS = 5;

/** Describes the faults of an object and how to fix them, for logs and events. */
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
