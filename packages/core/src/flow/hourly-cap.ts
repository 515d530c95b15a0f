import type { Clock } from '@mcm/kube';

const HOUR_MS = 3_600_000;

/**
 * Limits the number of different IDs in an hour. A new process does not know the IDs of an earlier process, so the
 * hourly limit starts at one and grows during the first hour.
 */
export class HourlyCap {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #since: number;
  readonly #admitted = new Map<string, number>();

  constructor(most: number, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  admits(id: string): boolean {
    const now = this.#clock.monotonic();
    for (const [other, at] of this.#admitted) if (now - at >= HOUR_MS) this.#admitted.delete(other);
    if (this.#admitted.has(id)) return true;
    const share = Math.min((now - this.#since) / HOUR_MS, 1);
    if (this.#admitted.size >= Math.min(1 + Math.floor(this.#most * share), this.#most)) return false;
    this.#admitted.set(id, now);
    return true;
  }
}
