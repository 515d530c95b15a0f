import { isWatch } from '../client/paths.ts';
import type { Clock } from '../clock/clock.ts';
import type { Transport } from '../contract/transport.ts';

/** Measures the time since an API server last responded to a request of any cluster. */
export class Answers {
  readonly #clock: Clock;
  #sentAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wrap(transport: Transport): Transport {
    return async (request) => {
      const sentAt = this.#clock.monotonic();
      const answer = await transport(request);
      if (!isWatch(request.path) && answer.status < 500) this.#sentAt = Math.max(this.#sentAt ?? sentAt, sentAt);
      return answer;
    };
  }

  readonly ageMs = (): number | undefined =>
    this.#sentAt === undefined ? undefined : this.#clock.monotonic() - this.#sentAt;
}
