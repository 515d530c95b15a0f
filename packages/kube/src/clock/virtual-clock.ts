import { stat } from 'node:fs/promises';
import type { Clock, Timer } from './clock.ts';
import { Schedule } from './schedule.ts';

/** Options of a virtual clock. */
export interface VirtualClockOptions {
  readonly start?: Date;
  readonly quietTurns?: number;
  /** The maximum number of calls of the clock at one instant. */
  readonly maxCalls?: number;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const filesUnderWay = (): boolean =>
  process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq') || name === 'CloseReq');

/**
 * A clock that advances only when a test or simulation advances it.
 * - Between two timers, the virtual clock waits until promises, in-process servers and streams are idle.
 */
export class VirtualClock implements Clock {
  readonly #timers = new Schedule<() => void>();
  readonly #quietTurns: number;
  #began: number;
  #now = 0;
  #activity = 0;
  #lastCall: number;
  readonly #maxCalls: number;
  #excess: Error | undefined;
  #held = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#began = (options.start ?? new Date('2026-01-01T00:00:00Z')).getTime();
    this.#quietTurns = options.quietTurns ?? 2;
    this.#maxCalls = options.maxCalls ?? Number.POSITIVE_INFINITY;
    this.#lastCall = this.#maxCalls;
  }

  #count(): void {
    this.#activity++;
    this.#verifyCalls();
  }

  #verifyCalls(): void {
    if (this.#activity <= this.#lastCall) return;
    this.#excess ??= new Error(
      `more than ${this.#maxCalls} calls of the clock at ${this.#now} ms: the work does not become idle`,
    );
    throw this.#excess;
  }

  now(): Date {
    this.#count();
    return new Date(this.#began + this.#now);
  }

  monotonic(): number {
    this.#count();
    return this.#now;
  }

  /** Sets the wall-clock time forward, or back if `ms` is negative; elapsed time and timers do not change. */
  jump(ms: number): void {
    this.#began += ms;
  }

  setTimeout(callback: () => void, ms: number): Timer {
    this.#count();
    const entry = this.#timers.add(this.#now + Math.max(ms, 0), callback);
    return {
      cancel: () => {
        this.#activity++;
        this.#timers.cancel(entry);
      },
    };
  }

  get pending(): number {
    return this.#timers.size;
  }

  get nextInMs(): number | undefined {
    const next = this.#timers.peek();
    return next === undefined ? undefined : Math.max(0, next.at - this.#now);
  }

  /** Stops the virtual time until `work` ends. */
  async hold<R>(work: Promise<R>): Promise<R> {
    this.#held++;
    try {
      return await work;
    } finally {
      this.#held--;
      this.#activity++;
    }
  }

  /** Waits until all work is complete that can run without a timer. */
  async settle(): Promise<void> {
    let quiet = 0;
    while (quiet < this.#quietTurns) {
      const seen = this.#activity;
      await turn();
      this.#verifyCalls();
      quiet = this.#activity === seen && this.#held === 0 ? quiet + 1 : 0;
      if (quiet < this.#quietTurns || !filesUnderWay()) continue;
      await stat(process.execPath);
      quiet = 0;
    }
  }

  /** Fires each due timer in order, and waits after each timer until its work is complete. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settle();
    while (await this.#fireNext(until));
    this.#moveTo(until);
  }

  #moveTo(instant: number): void {
    if (instant <= this.#now) return;
    this.#now = instant;
    this.#lastCall = this.#activity + this.#maxCalls;
  }

  /**
   * Advances the time from timer to timer until `done` is true, and returns the elapsed milliseconds.
   * @throws Error after `maxMs` of virtual time, or if there is no timer
   */
  async runUntil(done: () => boolean | Promise<boolean>, options: { readonly maxMs: number }): Promise<number> {
    const started = this.#now;
    await this.settle();
    while (!(await done())) {
      const fired = await this.#fireNext(started + options.maxMs);
      if (fired) continue;
      const why = this.pending === 0 ? 'no timer is pending' : `the next timer is due in ${this.nextInMs} ms`;
      throw new Error(
        `runUntil: the condition was not met after ${this.#now - started} of ${options.maxMs} virtual ms; ${why}`,
      );
    }
    return this.#now - started;
  }

  /**
   * Advances the time from timer to timer until `work` ends, and returns its result.
   * @throws Error after `maxMs` of virtual time
   */
  async ended<R>(work: Promise<R>, options: { readonly maxMs: number }): Promise<R> {
    let over = false;
    const end = (): void => {
      over = true;
    };
    work.then(end, end);
    const until = this.#now + options.maxMs;
    await this.settle();
    while (!over) {
      if (await this.#fireNext(until)) continue;
      if (this.pending > 0) throw new Error(`did not end after ${options.maxMs} virtual ms`);
      await turn();
      await this.settle();
    }
    return work;
  }

  async #fireNext(until: number): Promise<boolean> {
    const next = this.#timers.peek();
    if (next === undefined || next.at > until) return false;
    this.#timers.pop();
    this.#moveTo(next.at);
    next.value();
    await this.settle();
    return true;
  }
}
