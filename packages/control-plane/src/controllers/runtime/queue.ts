import type { Clock, Timer } from '../../apimachinery/objects/clock.ts';

const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 30_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const WORKERS = 16;

/** The queue contains a key at most once, and only one worker at a time processes the key. */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #work: (key: string) => Promise<void>;
  readonly #onError: (key: string, error: unknown) => void;
  readonly #waiting = new Set<string>();
  readonly #active = new Set<string>();
  readonly #timers = new Map<string, { readonly at: number; readonly timer: Timer }>();
  readonly #failures = new Map<string, number>();
  #state: 'closed' | 'open' | 'stopped' = 'closed';
  #scheduled = false;

  constructor(clock: Clock, work: (key: string) => Promise<void>, onError: (key: string, error: unknown) => void) {
    this.#clock = clock;
    this.#work = work;
    this.#onError = onError;
  }

  add(key: string): void {
    if (this.#state === 'stopped') return;
    this.#waiting.add(key);
    this.#schedule();
  }

  /** Adds a key at the given time, unless an earlier timer adds the key. */
  addAt(key: string, at: Date): void {
    if (this.#state === 'stopped') return;
    const time = at.getTime();
    const known = this.#timers.get(key);
    if (known !== undefined && known.at <= time) return;
    known?.timer.cancel();
    const add = (): void => {
      this.#timers.delete(key);
      this.add(key);
    };
    const delay = Math.max(0, time - this.#clock.now().getTime());
    this.#timers.set(key, { at: time, timer: this.#clock.setTimeout(add, Math.min(delay, LONGEST_TIMER_MS)) });
  }

  addAfter(key: string, ms: number): void {
    this.addAt(key, new Date(this.#clock.now().getTime() + ms));
  }

  open(): void {
    if (this.#state === 'closed') this.#state = 'open';
    this.#schedule();
  }

  stop(): void {
    this.#state = 'stopped';
    this.#waiting.clear();
    for (const { timer } of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** The queue starts workers after the current turn of the event loop, because one turn may change several objects. */
  #schedule(): void {
    if (this.#scheduled || this.#state !== 'open' || this.#waiting.size === 0) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#fill();
    });
  }

  #fill(): void {
    for (const key of this.#waiting) {
      if (this.#active.size >= WORKERS) return;
      if (this.#active.has(key)) continue;
      this.#waiting.delete(key);
      this.#active.add(key);
      void this.#process(key);
    }
  }

  async #process(key: string): Promise<void> {
    try {
      await this.#work(key);
      this.#failures.delete(key);
    } catch (error) {
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      if (this.#state !== 'stopped') this.#onError(key, error);
      this.addAfter(key, Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS));
    } finally {
      this.#active.delete(key);
      this.#schedule();
    }
  }
}
