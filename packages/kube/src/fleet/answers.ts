import { isWatch } from '../client/paths.ts';
import type { Clock } from '../clock/clock.ts';
import type { Transport } from '../contract/transport.ts';

/** The age of the newest proof that an API server answers this process, from the requests of all clusters. */
export class Answers {
  readonly #clock: Clock;
  /** Time of the newest request that the server has answered, by the monotonic clock. */
  #sentAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns a transport whose answers update the age. A watch or a server error (500 and above) does not update the
   * age.
   */
  wrap(transport: Transport): Transport {
    return async (request) => {
      const sentAt = this.#clock.monotonic();
      const answer = await transport(request);
      if (!isWatch(request.path) && answer.status < 500) this.#sentAt = Math.max(this.#sentAt ?? sentAt, sentAt);
      return answer;
    };
  }

  /** Returns the milliseconds since the newest answered request was sent, or undefined before the first answer. */
  readonly ageMs = (): number | undefined =>
    this.#sentAt === undefined ? undefined : this.#clock.monotonic() - this.#sentAt;
}
