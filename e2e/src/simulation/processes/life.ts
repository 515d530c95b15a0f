import type { Clock, Transport, TransportResponse } from '@mcm/kube';
import { isWatch } from '@mcm/kube';

/** The request at which a process dies: before it sends the n-th request, or after its effect and before its answer. */
export interface Death {
  readonly request: number;
  readonly when: 'before' | 'after';
}

/** Never settles. A killed process gets no answers. */
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/**
 * One life of a simulated process. All its requests and timers pass through it, so it can be killed or frozen at any time.
 * - After a kill nothing leaves it and nothing reaches it, as after SIGKILL.
 * - While frozen it does not run, as after SIGSTOP, and delayed inputs arrive at the end.
 */
export class Life {
  #requests = 0;
  #dead = false;
  #thawed: PromiseWithResolvers<void> | undefined;
  readonly #death: Death | undefined;
  readonly #onDeath: () => void;

  constructor(death: Death | undefined, onDeath: () => void) {
    this.#death = death;
    this.#onDeath = onDeath;
  }

  /** The number of requests so far, without watches. */
  get requests(): number {
    return this.#requests;
  }

  get dead(): boolean {
    return this.#dead;
  }

  get frozen(): boolean {
    return this.#thawed !== undefined;
  }

  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#onDeath();
  }

  freeze(): void {
    this.#thawed ??= Promise.withResolvers();
  }

  thaw(): void {
    this.#thawed?.resolve();
    this.#thawed = undefined;
  }

  /** Passes on an input of the process: delayed while it is frozen, never after its death. */
  async #reach<T>(value: T): Promise<T> {
    while (this.#thawed) await this.#thawed.promise;
    return this.#dead ? never() : value;
  }

  /** A transport of this life. */
  wrap(transport: Transport): Transport {
    return async (request) => {
      if (this.#dead) return never();
      if (isWatch(request.path)) return this.#watched(await transport(request));
      this.#requests += 1;
      const mine = this.#death?.request === this.#requests;
      if (mine && this.#death?.when === 'before') {
        this.kill();
        return never();
      }
      const answer = await transport(request).catch(async (error: unknown) => {
        await this.#reach(undefined);
        throw error;
      });
      if (mine) this.kill();
      return this.#reach(answer);
    };
  }

  async #watched(answer: TransportResponse): Promise<TransportResponse> {
    const { status, headers, body } = await this.#reach(answer);
    return { status, headers, text: () => answer.text(), body: body && this.#heard(body) };
  }

  async *#heard(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const bytes of body) yield await this.#reach(bytes);
  }

  /** The clock of this life. Its timers are delayed by a freeze, and canceled by a kill. */
  clock(clock: Clock): Clock {
    const setTimeout: Clock['setTimeout'] = (callback, ms) => {
      let cancelled = false;
      const timer = clock.setTimeout(() => {
        if (!this.#thawed && !this.#dead) callback();
        else void this.#reach(undefined).then(() => !cancelled && callback());
      }, ms);
      return {
        cancel: () => {
          cancelled = true;
          timer.cancel();
        },
      };
    };
    return { now: () => clock.now(), monotonic: () => clock.monotonic(), setTimeout };
  }
}
