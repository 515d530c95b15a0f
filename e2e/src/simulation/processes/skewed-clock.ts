import type { Clock, Timer } from '@mcm/kube';

/** The clock of a process. The timers of this clock are correct, but the time of day may jump. */
export class SkewedClock implements Clock {
  readonly #base: Clock;
  /**
   * How far this clock is ahead of the simulated time, in milliseconds. If the clock is behind, the value is negative.
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
