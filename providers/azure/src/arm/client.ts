import { sleep } from '@mcm/kube';
import { type Call, Carrier, calls, isDone, isOver } from './carrier.ts';
import { ArmError } from './error.ts';
import type { ArmOptions } from './options.ts';
import { type Clients, createClients } from './sdk.ts';

export interface CallOptions {
  readonly abortSignal: AbortSignal;
}

export interface Poller<T> {
  readonly isDone: boolean;
  readonly result: T | undefined;
  submitted(): Promise<void>;
  poll(options: CallOptions): Promise<unknown>;
}

export interface Provisioned {
  readonly provisioningState?: string | undefined;
}

export type Read<T> = (signal: AbortSignal) => Promise<T>;

/** The maximum number of cached clients. The least recently used client is removed first. */
const KEPT = 16;
const POLL_MS = 30_000;

/** Runs operations of the Azure SDK over the connections of this process. */
export class Arm {
  readonly #options: ArmOptions;
  readonly #carrier: Carrier;
  readonly #clients = new Map<string, Clients>();

  constructor(options: ArmOptions) {
    this.#options = options;
    this.#carrier = new Carrier(options);
  }

  clients(subscription: string): Clients {
    const clients =
      this.#clients.get(subscription) ?? createClients(this.#options.endpoint, subscription, this.#carrier);
    this.#clients.delete(subscription);
    this.#clients.set(subscription, clients);
    for (const [oldest] of this.#clients) if (this.#clients.size > KEPT) this.#clients.delete(oldest);
    return clients;
  }

  ask<T>(send: (options: CallOptions) => PromiseLike<T>, signal: AbortSignal): Promise<T> {
    const call: Call = calls.getStore() ?? { signal };
    return inCall(call, async () => send({ abortSignal: signal }));
  }

  /**
   * Runs a change until it ends, for at most `timeoutMs`.
   * @param read reads the resource that is created or changed.
   */
  async run<T>(
    begin: (options: CallOptions) => Poller<T>,
    timeoutMs: number,
    signal: AbortSignal,
    read?: Read<T & Provisioned>,
  ): Promise<T | undefined> {
    const until = this.#until(timeoutMs);
    const call: Call = { signal, changes: true };
    return inCall(call, async () => {
      const poller = begin({ abortSignal: signal });
      await poller.submitted();
      const { operation, state = '', ended } = call.began ?? {};
      // In the following two cases, the SDK returns a wrong result, so the driver reads the resource itself.
      if (read && operation && isDone(state)) return read(signal);
      if (read && !operation && !ended) return this.#settled(read, until, signal);
      for (let ms = 0; !poller.isDone; ms = POLL_MS) {
        await this.#pause(this.#carrier.wantedPauseMs(call) ?? ms, until, signal);
        await poller.poll({ abortSignal: signal });
      }
      return poller.result;
    });
  }

  /**
   * Waits for the end of a change that another call started, for at most `timeoutMs`.
   * @throws ArmError with status 200 if the change failed
   */
  follow<T extends Provisioned>(read: Read<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
    return this.#settled(read, this.#until(timeoutMs), signal);
  }

  /**
   * Waits until another call has deleted a resource.
   * @returns whether the resource is gone
   */
  async followGone(read: Read<Provisioned>, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const until = this.#until(timeoutMs);
    const call: Call = { signal };
    try {
      return await inCall(call, async () => {
        for (;;) {
          const { provisioningState = '' } = await read(signal);
          if (!/^deleting$/i.test(provisioningState)) return false;
          await this.#pause(this.#carrier.wantedPauseMs(call) ?? POLL_MS, until, signal);
        }
      });
    } catch (thrown) {
      if (isGone(thrown)) return true;
      throw thrown;
    }
  }

  /**
   * Reads a URL of Azure Storage without a token, because the URL itself contains credentials.
   * @throws Error for a URL without https, or for an invalid response
   */
  async read(address: string, signal: AbortSignal): Promise<string> {
    const { protocol, origin, pathname, search } = new URL(address);
    if (protocol !== 'https:') throw new Error(`${origin} is not allowed: the address must use https`);
    const headers = { 'user-agent': this.#options.userAgent };
    const answer = await this.#options.connect(origin)({ method: 'GET', path: pathname + search, headers, signal });
    const text = await answer.text();
    if (answer.status >= 300) throw new Error(`${origin} answers ${answer.status}`);
    return text;
  }

  #settled<T extends Provisioned>(read: Read<T>, until: number, signal: AbortSignal): Promise<T> {
    const call: Call = { signal };
    return inCall(call, async () => {
      for (;;) {
        const found = await read(signal);
        const state = found.provisioningState ?? 'Succeeded';
        if (isDone(state)) return found;
        if (isOver(state)) throw failedAs(call, `the resource is ${state}`);
        await this.#pause(this.#carrier.wantedPauseMs(call) ?? POLL_MS, until, signal);
      }
    });
  }

  #until(timeoutMs: number): number {
    return this.#options.clock.now().getTime() + timeoutMs;
  }

  async #pause(ms: number, until: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const left = until - clock.now().getTime();
    await sleep(clock, Math.min(ms, Math.max(left, 0)), signal);
    if (clock.now().getTime() >= until) throw new Error('context deadline exceeded');
  }
}

/**
 * Runs a call of the SDK. An error of the SDK contains the whole request with the user data, so only the response is
 * reported.
 */
async function inCall<T>(call: Call, work: () => Promise<T>): Promise<T> {
  try {
    return await calls.run(call, work);
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === 'RestError') throw failedAs(call, thrown.message);
    throw thrown;
  }
}

function failedAs({ last }: Call, why: string): Error {
  if (!last) return new Error(why);
  const { where, answer } = last;
  return new ArmError(where, answer.status, answer.text, answer);
}

/**
 * Returns true if the resource does not exist. A 404 without an error code of Azure comes from a proxy or a wrong
 * endpoint.
 */
const isGone = (thrown: unknown): boolean => thrown instanceof ArmError && thrown.status === 404 && thrown.code !== '';
