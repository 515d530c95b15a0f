import { type BackoffOptions, backoffMs } from '../base/backoff.ts';
import type { Random } from '../base/random.ts';
import type { Clock, Timer } from '../clock/clock.ts';
import { Schedule, type Scheduled } from '../clock/schedule.ts';
import type { Key } from '../contract/objects.ts';

/** Receives the values of a queue, for metrics. */
export interface QueueObserver {
  added?(): void;
  started?(waitedMs: number): void;
  finished?(workMs: number): void;
  retried?(): void;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly backoff: BackoffOptions;
  readonly observer?: QueueObserver | undefined;
  readonly onReady: () => void;
  /** Returns true if the queue must return the ready key before other keys. */
  readonly urgent?: ((key: Key) => boolean) | undefined;
}

/** At least every n-th returned key is a key that is not urgent, so that urgent keys never block other keys. */
const TURNS = 4;

class Line {
  readonly #keys: Key[] = [];
  #head = 0;

  get isEmpty(): boolean {
    return this.#head === this.#keys.length;
  }

  push(key: Key): void {
    this.#keys.push(key);
  }

  shift(): Key | undefined {
    const key = this.#keys[this.#head];
    if (key === undefined) return undefined;
    this.#head++;
    if (this.#head >= 1024 && this.#head * 2 >= this.#keys.length) {
      this.#keys.splice(0, this.#head);
      this.#head = 0;
    }
    return key;
  }

  clear(): void {
    this.#keys.length = 0;
    this.#head = 0;
  }
}

/**
 * A queue of keys that contains each key at most once. Unlike in client-go, a key that becomes ready loses its pending
 * delay, because the reconcile requests a new delay.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #urgent = new Line();
  readonly #ready = new Line();
  #streak = 0;
  readonly #waiting = new Map<Key, number>();
  readonly #delayed = new Map<Key, Scheduled<Key>>();
  readonly #schedule = new Schedule<Key>();
  readonly #processing = new Map<Key, number>();
  readonly #dirty = new Set<Key>();
  readonly #failures = new Map<Key, number>();
  #timer: { readonly at: number; readonly handle: Timer } | undefined;
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  get depth(): number {
    return this.#waiting.size;
  }

  get running(): number {
    return this.#processing.size;
  }

  get runningSince(): Iterable<number> {
    return this.#processing.values();
  }

  get nextInMs(): number | undefined {
    const next = this.#schedule.peek();
    return next === undefined ? undefined : Math.max(0, next.at - this.#now());
  }

  add(key: Key, afterMs = 0): void {
    if (this.#closed) return;
    if (afterMs > 0) this.#delay(key, this.#now() + afterMs);
    else this.#addNow(key);
  }

  /** Adds a key again after a delay that grows with every call until `forget`. */
  retry(key: Key, leastMs = 0, backoff: BackoffOptions = this.#options.backoff): void {
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    this.#options.observer?.retried?.();
    this.add(key, Math.max(1, leastMs, backoffMs(backoff, failures, this.#options.random)));
  }

  failures(key: Key): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: Key): void {
    this.#failures.delete(key);
  }

  /** Returns the next ready key, or undefined if no key is ready. */
  take(): Key | undefined {
    const key = this.#nextLine().shift();
    if (key === undefined) return undefined;
    const now = this.#now();
    this.#options.observer?.started?.(now - (this.#waiting.get(key) ?? now));
    this.#waiting.delete(key);
    this.#processing.set(key, now);
    return key;
  }

  /** Ends the processing of a key. */
  done(key: Key): void {
    const since = this.#processing.get(key);
    this.#processing.delete(key);
    if (since !== undefined) this.#options.observer?.finished?.(this.#now() - since);
    if (this.#dirty.delete(key)) this.#push(key);
  }

  /** Removes all waiting keys. */
  close(): void {
    this.#closed = true;
    this.#timer?.handle.cancel();
    this.#urgent.clear();
    this.#ready.clear();
    this.#waiting.clear();
    this.#dirty.clear();
    for (const key of [...this.#delayed.keys()]) this.#undelay(key);
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }

  #addNow(key: Key): void {
    if (this.#processing.has(key)) {
      if (!this.#dirty.has(key)) this.#options.observer?.added?.();
      this.#dirty.add(key);
    } else if (!this.#waiting.has(key)) {
      this.#options.observer?.added?.();
      this.#push(key);
    }
  }

  #nextLine(): Line {
    const urgent = !this.#urgent.isEmpty && (this.#streak < TURNS - 1 || this.#ready.isEmpty);
    this.#streak = urgent ? this.#streak + 1 : 0;
    return urgent ? this.#urgent : this.#ready;
  }

  #push(key: Key): void {
    this.#undelay(key);
    this.#waiting.set(key, this.#now());
    (this.#options.urgent?.(key) ? this.#urgent : this.#ready).push(key);
    this.#options.onReady();
  }

  #delay(key: Key, at: number): void {
    if (this.#waiting.has(key) || this.#dirty.has(key)) return;
    const known = this.#delayed.get(key);
    if (known !== undefined && known.at <= at) return;
    this.#undelay(key);
    this.#delayed.set(key, this.#schedule.add(at, key));
    this.#arm();
  }

  #undelay(key: Key): void {
    const entry = this.#delayed.get(key);
    if (entry === undefined) return;
    this.#schedule.cancel(entry);
    this.#delayed.delete(key);
  }

  #arm(): void {
    const next = this.#schedule.peek();
    if (next === undefined || (this.#timer !== undefined && this.#timer.at <= next.at)) return;
    this.#timer?.handle.cancel();
    const handle = this.#options.clock.setTimeout(() => this.#due(), next.at - this.#now());
    this.#timer = { at: next.at, handle };
  }

  #due(): void {
    this.#timer = undefined;
    const now = this.#now();
    for (let next = this.#schedule.peek(); next !== undefined && next.at <= now; next = this.#schedule.peek()) {
      this.#schedule.pop();
      this.#delayed.delete(next.value);
      this.add(next.value);
    }
    this.#arm();
  }
}
