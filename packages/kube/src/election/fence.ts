import type { Clock } from '../clock/clock.ts';

/** Verifies the leadership before actions that cannot be undone, such as a request to a cloud. */
export interface Fence {
  /**
   * Resolves when no other process can be the leader now.
   * - After a recent renewal, `confirm` sends no request. Without a recent renewal, for example after the process was
   *   suspended, `confirm` renews the Lease first.
   * - The promise rejects if another process may have acquired the Lease, and as soon as the work must end.
   */
  confirm(): Promise<void>;
  /** Unlike `confirm`, `held` is for the last steps before this process releases the Lease, after the work must end. */
  held(): Promise<void>;
}

/** Measures elapsed time with two clocks, because one of them may stop while the machine is suspended. */
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
