import type { Change, Informer } from './informer.ts';
import type { Key, KubeObject } from './objects.ts';

/** What a reconcile that did not fail says: finished, or look again after a while. An error backs off instead. */
export type Outcome = { readonly kind: 'done' } | { readonly kind: 'again'; readonly afterMs: number };

/** Nothing is left to do until something happens. */
export const done: Outcome = { kind: 'done' };
/** Asks to be called again after so many milliseconds. */
export const again = (afterMs: number): Outcome => ({ kind: 'again', afterMs });
/** Of several outcomes the one that wants to be called first; {@link done} when none does. */
export const soonest = (...all: readonly Outcome[]): Outcome =>
  all.reduce((a, b) => (a.kind === 'done' ? b : b.kind === 'done' || a.afterMs <= b.afterMs ? a : b), done);

/**
 * Looks at the world and moves one object towards what is wanted.
 * - `done`: forget the key's failures; only an event brings it back.
 * - `again`: the same, and look again after `afterMs` (a deadline, not a poll).
 * - throws: look again after the key's back-off (a `KubeError` 409 quickly and without a log line at error level).
 * Never runs twice at once for one key.
 */
export type Reconcile = (key: Key, signal: AbortSignal) => Promise<Outcome>;

/** One named reconcile loop with a queue of its own. */
export interface Controller {
  readonly name: string;
  /** Adds a key: at once, or after `afterMs` (the earliest of several requests wins). Deduplicated. */
  enqueue(key: Key, afterMs?: number): void;
  /**
   * Maps changes of an informer to keys of this controller, which waits for as long as the API server refuses it, and for
   * as long as what it keeps is doubted.
   * @param without Given where it continues all the same: the keys to look at when the refusal begins or ends.
   */
  watch<T extends KubeObject>(
    informer: Informer<T>,
    keys: (change: Change<T>) => Iterable<Key>,
    without?: () => Iterable<Key>,
  ): void;
  /** Waits for the watched informers to be synced (or refused, where it continues without them), then works until the signal aborts; resolves when the last reconcile has ended. */
  run(signal: AbortSignal): Promise<void>;
  /** True when nothing is queued, delayed within `withinMs` (default 0) or running. */
  idle(withinMs?: number): boolean;
}
