import type { Clock, Timer } from '@mcm/kube';

/** The clock of one process, with correct timers but a time of day that may jump. */
export class SkewedClock implements Clock {
  readonly #base: Clock;
  /**
   * The difference between this clock and the time of the simulation, in milliseconds. A negative value means that this
   * clock is behind.
   */
  skewMs = 0;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): Date {
    return new Date(this.#base.now().getTime() + this.skewMs);
  }

  monotonic(): number {
    return this.#base.monotonic();
  }

  setTimeout(callback: () => void, ms: number): Timer {
    return this.#base.setTimeout(callback, ms);
  }
}
