import type { Machine } from '@mcm/api';
import type { Clock } from '@mcm/kube';
import type { Instance } from '../ec2/client.ts';

const FRESH_MS = 60_000;

/** After `create` has read an instance, keeps it for a minute, so that `initialize` does not read it again. */
export class FreshInstances {
  readonly #clock: Clock;
  readonly #seen = new Map<string, { readonly instance: Instance; readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(machine: Machine, instance: Instance): void {
    const now = this.#clock.now().getTime();
    for (const [uid, { until }] of this.#seen) {
      if (until > now) break;
      this.#seen.delete(uid);
    }
    this.#seen.delete(machine.metadata.uid);
    this.#seen.set(machine.metadata.uid, { instance, until: now + FRESH_MS });
  }

  take({ metadata: { uid } }: Machine): Instance | undefined {
    const known = this.#seen.get(uid);
    this.#seen.delete(uid);
    return known && known.until > this.#clock.now().getTime() ? known.instance : undefined;
  }
}
