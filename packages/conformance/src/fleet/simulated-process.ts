import type { Clock, Transport, TransportResponse } from '@mcm/kube';
import { isWatch } from '@mcm/kube';

/**
 * The time of a kill: before the process sends the n-th request, or after the effect of this request and before its
 * response.
 */
export interface KillPoint {
  readonly request: number;
  readonly when: 'before' | 'after';
}

/** A killed process gets no responses. */
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/**
 * A simulated process from its start to its end. All requests and timers of the process pass through this class, so
 * that a test can kill or freeze the process at any time.
 * - After a kill, the process sends and receives nothing, as after SIGKILL.
 * - A frozen process does not run, as after SIGSTOP.
 */
export class SimulatedProcess {
  #requests = 0;
  #dead = false;
  #thawed: PromiseWithResolvers<void> | undefined;
  readonly #killPoint: KillPoint | undefined;
  readonly #onKill: () => void;

  constructor(killPoint: KillPoint | undefined, onKill: () => void) {
    this.#killPoint = killPoint;
    this.#onKill = onKill;
  }

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
    this.#onKill();
  }

  freeze(): void {
    this.#thawed ??= Promise.withResolvers();
  }

  thaw(): void {
    this.#thawed?.resolve();
    this.#thawed = undefined;
  }

  async #reach<T>(value: T): Promise<T> {
    while (this.#thawed) await this.#thawed.promise;
    return this.#dead ? never() : value;
  }

  wrap(transport: Transport): Transport {
    return async (request) => {
      if (this.#dead) return never();
      if (isWatch(request.path)) return this.#watched(await transport(request));
      this.#requests += 1;
      const mine = this.#killPoint?.request === this.#requests;
      if (mine && this.#killPoint?.when === 'before') {
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
    return { status, headers, text: () => answer.text(), body: body && this.#receivedUntil(body) };
  }

  async *#receivedUntil(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const bytes of body) yield await this.#reach(bytes);
  }

  /**
   * Returns the clock of this process. A freeze delays the timers of the process, and a kill cancels the timers. After
   * a freeze, the process handles its inputs before its timers.
   */
  clock(clock: Clock): Clock {
    const setTimeout: Clock['setTimeout'] = (callback, ms) => {
      let cancelled = false;
      const fire = (): void => {
        if (cancelled) return;
        if (!this.#thawed && !this.#dead) callback();
        else void this.#reach(undefined).then(() => clock.setTimeout(fire, 0));
      };
      const timer = clock.setTimeout(fire, ms);
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
