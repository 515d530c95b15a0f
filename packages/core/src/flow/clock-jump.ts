import type { Clock } from '@mcm/kube';

const DRIFT_MS = 2_000;

/** Detects changes of the system clock. mcm must not use a time interval in which the system clock changed. */
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
