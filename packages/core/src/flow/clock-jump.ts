import type { Clock } from '@mcm/kube';

/** Clocks that are disciplined drift by less than this between two looks. */
const DRIFT_MS = 2_000;

/** Tells whether the time of day was set since the last look: intervals between instants from before and after say nothing. */
export class ClockJump {
  readonly #clock: Clock;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = this.#measure();
  }

  happened(): boolean {
    const offset = this.#measure();
    const jumped = Math.abs(offset - this.#offset) > DRIFT_MS;
    this.#offset = offset;
    return jumped;
  }

  #measure(): number {
    return this.#clock.now().getTime() - this.#clock.monotonic();
  }
}
