import type { Clock } from '@mcm/kube';

/** Synchronized clocks drift less than this between two passes. */
const DRIFT_MS = 2_000;

/** Detects that the system clock was set since the last pass. Intervals across this moment are meaningless. */
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
