import type { Clock, Timer } from './clock.ts';
import { Schedule } from './schedule.ts';

/** Where a virtual clock begins, and when it takes everything for settled. */
export interface VirtualClockOptions {
  /** The first instant; default 2026-01-01T00:00:00Z. */
  readonly start?: Date;
  /**
   * Turns of the event loop without a sign of life after which everything counts as settled; default 2. More are needed
   * only for code that hops over several `setImmediate`s without reading the time.
   */
  readonly quietTurns?: number;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Whether a file is being read, written or closed: libuv's requests, which run next to the event loop. */
const filesUnderWay = (): boolean =>
  process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq') || name === 'CloseReq');

/**
 * A clock that stands still until it is told to move: for tests and simulations. Time jumps from timer to timer; between
 * two timers everything that can continue without time passing (promises, in-process servers, streams) is let run to its
 * end. Same calls, same order, same history.
 *
 * Reads and writes of files are waited for. Other work that leaves the event loop (sockets, the thread pool) is
 * invisible to it and must be wrapped in `hold`.
 */
export class VirtualClock implements Clock {
  readonly #timers = new Schedule<() => void>();
  readonly #quietTurns: number;
  /** The time of day at which it began. */
  #began: number;
  /** Milliseconds that have passed. */
  #now = 0;
  #activity = 0;
  #held = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#began = (options.start ?? new Date('2026-01-01T00:00:00Z')).getTime();
    this.#quietTurns = options.quietTurns ?? 2;
  }

  now(): Date {
    this.#activity++;
    return new Date(this.#began + this.#now);
  }

  monotonic(): number {
    this.#activity++;
    return this.#now;
  }

  /** The time of day is set forward (negative: back); what has passed, and timers, know nothing of it. */
  jump(ms: number): void {
    this.#began += ms;
  }

  setTimeout(callback: () => void, ms: number): Timer {
    this.#activity++;
    const entry = this.#timers.add(this.#now + Math.max(ms, 0), callback);
    return {
      cancel: () => {
        this.#activity++;
        this.#timers.cancel(entry);
      },
    };
  }

  /** Number of timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer; undefined when none waits. */
  get nextInMs(): number | undefined {
    const next = this.#timers.peek();
    return next === undefined ? undefined : Math.max(0, next.at - this.#now);
  }

  /** Time does not move while `work` is under way: for what the event loop does not show (sockets, thread pool). */
  async hold<R>(work: Promise<R>): Promise<R> {
    this.#held++;
    try {
      return await work;
    } finally {
      this.#held--;
      this.#activity++;
    }
  }

  /** Lets everything continue that needs no time to pass. No timer fires. */
  async settle(): Promise<void> {
    let quiet = 0;
    while (quiet < this.#quietTurns) {
      const seen = this.#activity;
      await turn();
      quiet = this.#activity === seen && this.#held === 0 ? quiet + 1 : 0;
      if (quiet === this.#quietTurns && filesUnderWay()) quiet = 0;
    }
  }

  /** Moves time forward by `ms`, firing every timer that falls due, in order, and settling after each. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settle();
    while (await this.#fireNext(until));
    this.#now = Math.max(this.#now, until);
  }

  /**
   * Moves time from timer to timer until `done` holds, and returns the milliseconds that passed. Throws when that takes
   * more than `maxMs` of virtual time, or when no timer is left that could change anything.
   */
  async runUntil(done: () => boolean | Promise<boolean>, options: { readonly maxMs: number }): Promise<number> {
    const started = this.#now;
    await this.settle();
    while (!(await done())) {
      const fired = await this.#fireNext(started + options.maxMs);
      if (fired) continue;
      const why = this.pending === 0 ? 'no timer is left' : `the next timer is due in ${this.nextInMs} ms`;
      throw new Error(`runUntil: not reached after ${this.#now - started} of ${options.maxMs} virtual ms; ${why}`);
    }
    return this.#now - started;
  }

  /**
   * Moves time from timer to timer until `work` ends, and gives its result. While no timer waits, time stands still and
   * `work` is waited for as long as it takes: it may load a module, or wait for a socket. Throws where it takes more
   * than `maxMs` of virtual time.
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
      if (this.pending > 0) throw new Error(`not ended after ${options.maxMs} virtual ms`);
      await turn();
      await this.settle();
    }
    return work;
  }

  async #fireNext(until: number): Promise<boolean> {
    const next = this.#timers.peek();
    if (next === undefined || next.at > until) return false;
    this.#timers.pop();
    this.#now = Math.max(this.#now, next.at);
    next.value();
    await this.settle();
    return true;
  }
}
