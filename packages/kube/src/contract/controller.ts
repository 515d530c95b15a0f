import type { Change, Informer } from './informer.ts';
import type { Key, KubeObject } from './objects.ts';

/** The result of a successful reconcile: finished, or reconcile again after a delay. An error uses the back-off instead. */
export type Outcome = { readonly kind: 'done' } | { readonly kind: 'again'; readonly afterMs: number };

/** Nothing is left to do until the next event. */
export const done: Outcome = { kind: 'done' };
/** Requests another reconcile after `afterMs` milliseconds. */
export const again = (afterMs: number): Outcome => ({ kind: 'again', afterMs });
/** The outcome with the earliest reconcile. {@link done} when no outcome requests one. */
export const soonest = (...all: readonly Outcome[]): Outcome =>
  all.reduce((a, b) => (a.kind === 'done' ? b : b.kind === 'done' || a.afterMs <= b.afterMs ? a : b), done);

/**
 * Compares the actual with the desired state and moves one object towards it.
 * - `done`: forget the key's failures. Only an event brings it back.
 * - `again`: the same, and reconcile again after `afterMs` (a deadline, not a poll).
 * - throws: reconcile again after the key's back-off (a `KubeError` 409 quickly and without a log line at error level).
 * Never runs twice for one key at the same time.
 */
export type Reconcile = (key: Key, signal: AbortSignal) => Promise<Outcome>;

/** One named reconcile loop with its own queue. */
export interface Controller {
  readonly name: string;
  /** Adds a key immediately, or after `afterMs` (the earliest of several requests wins). Deduplicated. */
  enqueue(key: Key, afterMs?: number): void;
  /**
   * Maps changes of an informer to keys of this controller. The controller waits while the API server refuses the informer, and while its cache is
   * doubted.
   * @param without If given, the controller does not wait for a refused informer. It returns the keys to reconcile when the refusal begins or ends.
   */
  watch<T extends KubeObject>(
    informer: Informer<T>,
    keys: (change: Change<T>) => Iterable<Key>,
    without?: () => Iterable<Key>,
  ): void;
  /**
   * Waits for the watched informers, then works until the signal aborts. Resolves when the last reconcile has ended.
   * An informer is ready when it is synced, or refused if the controller continues without it.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Whether no key is queued, running, or delayed by at most `withinMs` (default 0). */
  idle(withinMs?: number): boolean;
}
