import type { Clock } from '@mcm/kube';

const REMEMBERED_MS = 60 * 60_000;

/**
 * The instances that this process has terminated. For some seconds, EC2 still reports a terminated instance as running.
 * A new machine with the same name must not adopt such an instance.
 */
export class EndedInstances {
  readonly #clock: Clock;
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
