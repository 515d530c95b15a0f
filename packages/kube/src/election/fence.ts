import type { Clock } from '../clock/clock.ts';

/** Verifies that this process is the leader, before an action that cannot be undone, such as a request to a cloud. */
export interface Fence {
  /**
   * Resolves if no other process can be the leader now.
   * - After a recent renewal, `confirm` sends no request. Without a recent renewal, for example after the process was
   *   suspended, `confirm` renews the Lease first.
   * - The promise rejects if another process may have acquired the Lease, or if this process must stop its work.
   */
  confirm(): Promise<void>;
  /**
   * Works like `confirm`, but also resolves after this process must stop its work. `held` is for the last steps before
   * the release of the Lease.
   */
  held(): Promise<void>;
}

/** Measures elapsed time with two clocks. One of the clocks may stop while the machine is suspended. */
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
