import type { Clock } from '../clock/clock.ts';

/** Verifies that this process is the leader, before an action that cannot be undone, such as a request to a cloud. */
export interface Fence {
  /**
   * Resolves if no other process can be the leader now. If this process was suspended, `confirm` first renews the Lease.
   */
  confirm(): Promise<void>;
  /**
   * Works like `confirm`, but still resolves after the process was asked to stop. The process needs `held` for its last
   * steps before it releases the Lease.
   */
  held(): Promise<void>;
}

export class Age {
  readonly #clock: Clock;
  readonly #monotonic: number;
  readonly #timeOfDay: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#monotonic = clock.monotonic();
    this.#timeOfDay = clock.now().getTime();
  }

  get ms(): number {
    return Math.max(this.#clock.monotonic() - this.#monotonic, this.#clock.now().getTime() - this.#timeOfDay);
  }
}
