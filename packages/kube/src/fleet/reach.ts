import { errorText } from '../base/error-text.ts';
import { isWatch } from '../client/paths.ts';
import { type Clock, pause } from '../clock/clock.ts';
import type { Transport } from '../contract/transport.ts';

const SLOW_MS = 5_000;
const PROBE_MS = 5_000;
/** The time without a response of the API server after which a replica releases the cluster, as in the original. */
const LIMIT_MS = 30_000;
const FROM_PROXY: readonly number[] = [502, 504];

/** The error of a replica that gets no response from the API server of a cluster. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export class Reach {
  readonly #clock: Clock;
  #silentSince: number | undefined;
  #failure = '';
  #onSilence: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wrap(transport: Transport): Transport {
    return async (request) => {
      const slow = isWatch(request.path)
        ? undefined
        : this.#clock.setTimeout(() => this.#silent(`no response for ${SLOW_MS / 1000} s`), SLOW_MS);
      try {
        const answer = await transport(request);
        if (FROM_PROXY.includes(answer.status)) this.#silent(`a proxy responded with status ${answer.status}`);
        else this.#silentSince = undefined;
        return answer;
      } catch (error) {
        if (!request.signal?.aborted) this.#silent(errorText(error));
        throw error;
      } finally {
        slow?.cancel();
      }
    };
  }

  explain(error: unknown): unknown {
    if (this.#silentSince === undefined) return error;
    return new Unreachable(`${errorText(error)} (the API server of the cluster does not answer: ${this.#failure})`);
  }

  async watch(
    probe: () => Promise<void>,
    elsewhere: () => boolean,
    noted: (silent: boolean) => void,
    signal: AbortSignal,
  ): Promise<Unreachable | undefined> {
    while (!signal.aborted) {
      await this.#silence(signal);
      while (this.#silentSince !== undefined && !signal.aborted) {
        await probe().catch(() => undefined); // The transport has already recorded the failed probe.
        if (this.#silentMs >= LIMIT_MS) noted(true);
        if (this.#silentMs >= LIMIT_MS && elsewhere())
          return new Unreachable(
            `the API server of the cluster did not answer for ${LIMIT_MS / 1000} s (${this.#failure}); another replica connects to the cluster`,
          );
        await pause(this.#clock, PROBE_MS, signal);
      }
      noted(false);
    }
    return undefined;
  }

  get #silentMs(): number {
    return this.#silentSince === undefined ? 0 : this.#clock.monotonic() - this.#silentSince;
  }

  #silent(failure: string): void {
    this.#failure = failure;
    this.#silentSince ??= this.#clock.monotonic();
    this.#onSilence();
  }

  #silence(signal: AbortSignal): Promise<void> {
    if (this.#silentSince !== undefined || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done);
        this.#onSilence = () => undefined;
        resolve();
      };
      this.#onSilence = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
