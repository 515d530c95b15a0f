import type { Change, Informer } from './informer.ts';
import type { Key, KubeObject } from './objects.ts';

/** The result of a successful reconcile: `done`, or another reconcile after a delay. */
export type Outcome = { readonly kind: 'done' } | { readonly kind: 'again'; readonly afterMs: number };

/** The outcome of a reconcile after which the key waits for the next event. */
export const done: Outcome = { kind: 'done' };
/** Returns an outcome that requests another reconcile after `afterMs` milliseconds. */
export const again = (afterMs: number): Outcome => ({ kind: 'again', afterMs });
/** Returns the outcome with the earliest next reconcile. */
export const soonest = (...all: readonly Outcome[]): Outcome =>
  all.reduce((a, b) => (a.kind === 'done' ? b : b.kind === 'done' || a.afterMs <= b.afterMs ? a : b), done);

/**
 * Compares the actual state of one object with its desired state, and changes the actual state accordingly. Polling is
 * forbidden.
 */
export type Reconcile = (key: Key, signal: AbortSignal) => Promise<Outcome>;

/** One named reconcile loop with its own queue. */
export interface Controller {
  readonly name: string;
  /**
   * Adds a key to the queue, immediately or after `afterMs`. If a key was added several times, the controller
   * reconciles the key once, at the earliest of the requested times.
   */
  enqueue(key: Key, afterMs?: number): void;
  /**
   * Starts reconciles after changes of the objects in an informer. While the informer has no permission or its cache
   * may be wrong, the controller waits.
   */
  watch<T extends KubeObject>(
    informer: Informer<T>,
    keys: (change: Change<T>) => Iterable<Key>,
    without?: () => Iterable<Key>,
  ): void;
  /**
   * Waits for the watched informers, and then reconciles until the signal aborts. The promise resolves when the last
   * reconcile has ended.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Returns true if no key is queued, being reconciled, or delayed by at most `withinMs` (default 0). */
  idle(withinMs?: number): boolean;
}
