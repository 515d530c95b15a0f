import type { Clock } from '@mcm/kube';

const HOUR_MS = 3_600_000;

/**
 * Lets so many different things through within an hour; one that was let through may come again for free. In its first
 * hour only as many as are due to the time that has passed, and one: it does not know what the process before it let
 * through, and one that is started again and again must not do more than one that lives.
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

  /** Whether the thing may pass now. */
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
