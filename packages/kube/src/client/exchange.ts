import type { Random } from '../base/random.ts';
import { type Clock, sleep } from '../clock/clock.ts';
import { KubeError } from '../contract/errors.ts';
import type { Transport, TransportRequest, TransportResponse } from '../contract/transport.ts';
import { noAnswer, refusal, tooLate } from './refusal.ts';

/** A response to a request, with status code 0 if no response arrived. */
export interface RequestSample {
  readonly method: string;
  readonly path: string;
  readonly code: number;
  readonly ms: number;
  readonly date?: string;
  readonly failure?: unknown;
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether the client waits after a response 429 or 503 with Retry-After. */
  readonly patient?: boolean | undefined;
  readonly beforeSend?: (() => Promise<void>) | undefined;
}

export interface ExchangeOptions {
  readonly transport: Transport;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly requestTimeoutMs: number;
  readonly acquire?: ((signal?: AbortSignal) => Promise<void>) | undefined;
  readonly observe?: ((sample: RequestSample) => void) | undefined;
  readonly refused?: ((error: KubeError) => void) | undefined;
}

export interface Stream {
  readonly response: TransportResponse;
  readonly signal: AbortSignal;
  end(): void;
}

/** The maximum number of waits that an API server can request for one call, as in client-go. */
const MAX_WAITS = 10;
/** The time limit for opening a watch. A busy API server queues a request for up to 15 s before it responds. */
const OPEN_WITHIN_MS = 30_000;
/** The random extension of a requested wait, so that not all clients retry at the same time. */
const WAIT_JITTER = 0.1;

const saysWhen = (error: KubeError): boolean =>
  (error.code === 429 || error.code === 503) && error.retryAfterMs !== undefined;

/** Sends requests over a transport. */
export class Exchange {
  readonly #options: ExchangeOptions;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  text(call: Call): Promise<string> {
    return this.read(call, (response) => response.text());
  }

  /**
   * Sends a request, and passes the response to `consume`.
   * @throws KubeError, or the reason of the signal
   */
  async read<R>(call: Call, consume: (response: TransportResponse) => Promise<R>): Promise<R> {
    for (let waits = 0; ; waits++) {
      try {
        return await this.#once(call, consume);
      } catch (error) {
        if (!(error instanceof KubeError) || !saysWhen(error) || call.patient === false || waits >= MAX_WAITS)
          throw error;
        const waitMs = (error.retryAfterMs ?? 0) * (1 + WAIT_JITTER * this.#options.random.next());
        await sleep(this.#options.clock, waitMs, call.signal);
      }
    }
  }

  async stream(call: Call): Promise<Stream> {
    call.signal?.throwIfAborted();
    const limit = this.#limit(call, Math.min(this.#options.requestTimeoutMs, OPEN_WITHIN_MS));
    try {
      const response = await this.#send(call, limit.signal);
      if (response.status >= 400) throw await this.#refused(call, response);
      limit.disarm();
      return { response, signal: limit.signal, end: limit.end };
    } catch (error) {
      limit.end();
      throw this.#explain(call, error, limit.signal);
    }
  }

  async #once<R>(call: Call, consume: (response: TransportResponse) => Promise<R>): Promise<R> {
    call.signal?.throwIfAborted();
    const limit = this.#limit(call);
    try {
      const response = await this.#send(call, limit.signal);
      if (response.status >= 400) throw await this.#refused(call, response);
      return await consume(response);
    } catch (error) {
      throw this.#explain(call, error, limit.signal);
    } finally {
      limit.release();
    }
  }

  async #send(call: Call, signal: AbortSignal): Promise<TransportResponse> {
    const { transport, acquire, observe, clock } = this.#options;
    if (acquire !== undefined) await acquire(signal);
    if (call.beforeSend !== undefined) {
      await call.beforeSend();
      signal.throwIfAborted();
    }
    const started = observe === undefined ? 0 : clock.monotonic();
    const sample = (code: number, more: Pick<RequestSample, 'date' | 'failure'>): void =>
      observe?.({ method: call.method, path: call.path, code, ms: clock.monotonic() - started, ...more });
    try {
      const response = await transport(this.#request(call, signal));
      const date = response.headers.get('date');
      sample(response.status, date === null ? {} : { date });
      return response;
    } catch (failure) {
      sample(0, { failure });
      throw failure;
    }
  }

  #request(call: Call, signal: AbortSignal): TransportRequest {
    const headers: Record<string, string> = { accept: 'application/json', 'user-agent': this.#options.userAgent };
    if (call.body === undefined) return { method: call.method, path: call.path, headers, signal };
    headers['content-type'] = call.contentType ?? 'application/json';
    return { method: call.method, path: call.path, headers, body: call.body, signal };
  }

  async #refused(call: Call, response: TransportResponse): Promise<KubeError> {
    const error = refusal(call, response, await response.text(), this.#options.clock.now());
    this.#options.refused?.(error);
    return error;
  }

  #explain(call: Call, error: unknown, limit: AbortSignal): unknown {
    if (error instanceof KubeError) return error;
    if (call.signal?.aborted) return call.signal.reason;
    return noAnswer(call, limit.aborted ? limit.reason : error);
  }

  #limit(
    call: Call,
    withinMs = this.#options.requestTimeoutMs,
  ): { signal: AbortSignal; disarm(): void; release(): void; end(): void } {
    const controller = new AbortController();
    const { clock } = this.#options;
    const follow = (): void => controller.abort(call.signal?.reason);
    call.signal?.addEventListener('abort', follow, { once: true });
    const timer = withinMs > 0 ? clock.setTimeout(() => controller.abort(tooLate(withinMs)), withinMs) : undefined;
    const release = (): void => {
      timer?.cancel();
      call.signal?.removeEventListener('abort', follow);
    };
    const end = (): void => {
      release();
      controller.abort(new Error('the client ended the stream'));
    };
    return { signal: controller.signal, disarm: () => timer?.cancel(), release, end };
  }
}
