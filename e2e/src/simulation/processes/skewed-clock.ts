import type { Clock, Timer } from '@mcm/kube';

export class SkewedClock implements Clock {
  readonly #base: Clock;
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
