import type { Clock } from '@mcm/kube';

/** EC2 shows an instance for one hour after its termination. */
const REMEMBERED_MS = 60 * 60_000;

/**
 * The instances that this process has terminated. EC2 shows a terminated instance as running for some seconds. A new
 * machine must not adopt a terminated instance with the same name.
 */
export class EndedInstances {
  readonly #clock: Clock;
  /** The expiry time of each entry, by instance ID. The oldest entry expires first. */
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(id: string): void {
    const now = this.#clock.now().getTime();
    for (const [other, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(other);
    }
    this.#until.delete(id);
    this.#until.set(id, now + REMEMBERED_MS);
  }

  has(id: string): boolean {
    const until = this.#until.get(id);
    return until !== undefined && until > this.#clock.now().getTime();
  }
}
