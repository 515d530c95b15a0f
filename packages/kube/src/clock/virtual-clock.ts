import { stat } from 'node:fs/promises';
import type { Clock, Timer } from './clock.ts';
import { Schedule } from './schedule.ts';

/** Options of a virtual clock. */
export interface VirtualClockOptions {
  readonly start?: Date;
  /**
   * All work counts as complete after this number of idle turns of the event loop (default: 2). Code with more than two
   * chained `setImmediate` calls needs a higher number.
   */
  readonly quietTurns?: number;
  /** The maximum number of calls of the clock at one instant. More calls indicate an endless loop. */
  readonly maxCalls?: number;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const filesUnderWay = (): boolean =>
  process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq') || name === 'CloseReq');

/**
 * A clock that advances only when a test or simulation advances it. The time jumps from timer to timer.
 * - Between two timers, the clock waits until promises, in-process servers and streams are idle. Equal calls have equal
 *   results.
 * - The clock waits for reads and writes of files. Other work outside of the event loop (sockets, thread pool) must be
 *   wrapped in `hold`.
 */
export class VirtualClock implements Clock {
  readonly #timers = new Schedule<() => void>();
  readonly #quietTurns: number;
  #began: number;
  #now = 0;
  #activity = 0;
  /** The number of the first call at the current instant that exceeds the maximum. */
  #lastCall: number;
  readonly #maxCalls: number;
  /** The error of the first call that exceeds the maximum. The stack of this error shows the endless loop. */
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

  /** Sets the wall-clock time forward, or back if `ms` is negative. Elapsed time and timers do not change. */
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

  /**
   * Stops the virtual time until `work` ends. Callers need `hold` for work outside of the event loop, such as sockets
   * and the thread pool.
   */
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
      // The library libuv runs this file operation after all pending file operations. The clock therefore waits for the
      // disk without a busy loop.
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
   * Advances the time from timer to timer until `work` ends, and returns its result. Without a timer, the clock waits
   * for `work`, which may load a module or use a socket.
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
