import type { Change, Informer } from './informer.ts';
import type { Key, KubeObject } from './objects.ts';

/**
 * The result of a successful reconcile: `done`, or another reconcile after a delay. A failed reconcile throws an error.
 */
export type Outcome = { readonly kind: 'done' } | { readonly kind: 'again'; readonly afterMs: number };

/** The outcome of a reconcile after which the key waits for the next event. */
export const done: Outcome = { kind: 'done' };
/** Returns an outcome that requests another reconcile after `afterMs` milliseconds. */
export const again = (afterMs: number): Outcome => ({ kind: 'again', afterMs });
/** Returns the outcome with the earliest next reconcile. */
export const soonest = (...all: readonly Outcome[]): Outcome =>
  all.reduce((a, b) => (a.kind === 'done' ? b : b.kind === 'done' || a.afterMs <= b.afterMs ? a : b), done);

/**
 * Compares the actual with the desired state of one object, and changes it towards the desired state. A controller
 * never runs two reconciles of one key at the same time.
 * - `done`: the count of failures is reset, and only an event starts the next reconcile.
 * - `again`: the count of failures is reset, and the next reconcile runs after `afterMs`. A deadline can be such a
 *   time, but polling is forbidden.
 * - An error: the next reconcile runs after a growing delay. After a `KubeError` 409, the next reconcile runs soon,
 *   without a log line at error level.
 */
export type Reconcile = (key: Key, signal: AbortSignal) => Promise<Outcome>;

/** One named reconcile loop with its own queue. */
export interface Controller {
  readonly name: string;
  /**
   * Adds a key to the queue, immediately or after `afterMs`. A key that is added several times is reconciled once, at
   * the earliest of these times.
   */
  enqueue(key: Key, afterMs?: number): void;
  /**
   * Starts reconciles after changes of the objects in an informer. The controller waits while the informer has no
   * permission, or while its cache may be wrong.
   * @param without If set, the controller also works while the informer has no permission. When the permission changes,
   *   the controller reconciles the keys that `without` returns.
   */
  watch<T extends KubeObject>(
    informer: Informer<T>,
    keys: (change: Change<T>) => Iterable<Key>,
    without?: () => Iterable<Key>,
  ): void;
  /**
   * Waits for the watched informers, and then reconciles until the signal aborts. The promise resolves when the last
   * reconcile has ended. The controller does not wait for an informer with `without` that has no permission.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Returns true if no key is queued, being reconciled, or delayed by at most `withinMs` (default 0). */
  idle(withinMs?: number): boolean;
}
