import { isWatch } from '../client/paths.ts';
import type { Clock } from '../clock/clock.ts';
import type { Transport } from '../contract/transport.ts';

/** Any answer to a request of any cluster proves that the API server answers this process. */
export class Answers {
  readonly #clock: Clock;
  /** The time of the newest request that the server has answered, by the monotonic clock. */
  #sentAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A watch or a server error (500 and above) does not prove an answer. */
  wrap(transport: Transport): Transport {
    return async (request) => {
      const sentAt = this.#clock.monotonic();
      const answer = await transport(request);
      if (!isWatch(request.path) && answer.status < 500) this.#sentAt = Math.max(this.#sentAt ?? sentAt, sentAt);
      return answer;
    };
  }

  /** The age starts with the request, and is undefined before the first answer. */
  readonly ageMs = (): number | undefined =>
    this.#sentAt === undefined ? undefined : this.#clock.monotonic() - this.#sentAt;
}
