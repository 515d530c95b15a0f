import { isWatch } from '../client/paths.ts';
import type { Clock } from '../clock/clock.ts';
import type { Transport } from '../contract/transport.ts';

/** Measures the time since the last response of an API server. A response to any request of any cluster counts. */
export class Answers {
  readonly #clock: Clock;
  /** The time of the newest request that has a response, by the monotonic clock. */
  #sentAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wraps a transport. A watch and a server error (500 and above) do not count as responses. */
  wrap(transport: Transport): Transport {
    return async (request) => {
      const sentAt = this.#clock.monotonic();
      const answer = await transport(request);
      if (!isWatch(request.path) && answer.status < 500) this.#sentAt = Math.max(this.#sentAt ?? sentAt, sentAt);
      return answer;
    };
  }

  /**
   * Returns the age of the last response. The age starts with the request. Before the first response, the age is
   * undefined.
   */
  readonly ageMs = (): number | undefined =>
    this.#sentAt === undefined ? undefined : this.#clock.monotonic() - this.#sentAt;
}
