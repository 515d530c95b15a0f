import { type Random, seededRandom } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient, RequestOptions } from '../contract/client.ts';
import type { KubeError } from '../contract/errors.ts';
import { ServerHistory } from '../contract/server-history.ts';
import type { Transport } from '../contract/transport.ts';
import { Exchange, type RequestSample } from './exchange.ts';
import { createRateLimiter, type RateLimit } from './rate-limit.ts';
import { parseJson } from './refusal.ts';
import { HttpResourceClient } from './resource-client.ts';

/** What a client is made of. */
export interface ClientOptions {
  readonly transport: Transport;
  /** See `userAgent`. */
  readonly userAgent: string;
  readonly clock: Clock;
  /** Spreads the waits that a server asks for; default: a fixed seed. */
  readonly random?: Random;
  /** Absent: no limit on this side; the server's own fairness decides. */
  readonly rateLimit?: RateLimit;
  /** Time for a whole answer, or, but no more than 30,000, for a watch to open; 0: unlimited. Default 60,000 (what Go MCM sets). */
  readonly requestTimeoutMs?: number;
  /** Shared by the clients of one server. Default: one of its own. */
  readonly history?: ServerHistory;
  /** Called after each exchange. */
  readonly observe?: (sample: RequestSample) => void;
  /** Called with each answer of 400 and above, before it is thrown. */
  readonly refused?: (error: KubeError) => void;
}

/** `<binary>/<version> (<component>)`: who a request comes from, as the server's logs and metrics show it. */
export const userAgent = (binary: string, version: string, component: string): string =>
  `${binary}/${version} (${component})`;

/** A client of one API server as one identity. */
export function createClient(options: ClientOptions): KubeClient {
  const { rateLimit, clock } = options;
  const exchange = new Exchange({
    transport: options.transport,
    userAgent: options.userAgent,
    clock,
    random: options.random ?? seededRandom(1),
    requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    ...(rateLimit === undefined ? {} : { acquire: createRateLimiter(rateLimit, clock) }),
    ...(options.observe === undefined ? {} : { observe: options.observe }),
    ...(options.refused === undefined ? {} : { refused: options.refused }),
  });
  const history = options.history ?? new ServerHistory();
  return {
    history,
    resource: (definition, namespace) => new HttpResourceClient(exchange, history, definition, namespace),
    request: async <R>(
      method: string,
      path: string,
      request?: RequestOptions & { readonly body?: object; readonly contentType?: string },
    ): Promise<R> => {
      const call = {
        method,
        path,
        ...(request?.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...(request?.contentType === undefined ? {} : { contentType: request.contentType }),
        ...(request?.signal === undefined ? {} : { signal: request.signal }),
        ...(request?.onRetryAfter === 'throw' ? { patient: false } : {}),
      };
      return parseJson(await exchange.text(call), call) as R;
    },
  };
}
