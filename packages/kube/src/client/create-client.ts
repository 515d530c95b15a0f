import { type Random, seededRandom } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient, RequestOptions } from '../contract/client.ts';
import type { KubeError } from '../contract/errors.ts';
import { ServerHistory } from '../contract/server-history.ts';
import type { Transport } from '../contract/transport.ts';
import { Exchange, type RequestSample } from './exchange.ts';
import { createRateLimiter, type RateLimit } from './rate-limit.ts';
import { parseJson } from './refusal.ts';
import { callOptions, HttpResourceClient } from './resource-client.ts';

/** The options of a client. */
export interface ClientOptions {
  readonly transport: Transport;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random?: Random;
  readonly rateLimit?: RateLimit | undefined;
  /**
   * The time limit for a complete response, in milliseconds (default: 60,000, as in the original; 0: no limit). A watch
   * must open within 30,000 milliseconds.
   */
  readonly requestTimeoutMs?: number;
  /** The history of the API server. All clients of the API server share the history to detect a restore. */
  readonly history?: ServerHistory;
  readonly observe?: (sample: RequestSample) => void;
  readonly refused?: (error: KubeError) => void;
}

/**
 * Returns the user agent `<binary>/<version> (<component>)`, which appears in the logs and metrics of the API server.
 */
export const userAgent = (binary: string, version: string, component: string): string =>
  `${binary}/${version} (${component})`;

/** Creates a client for one API server and one identity. */
export function createClient(options: ClientOptions): KubeClient {
  const { rateLimit, clock } = options;
  const exchange = new Exchange({
    transport: options.transport,
    userAgent: options.userAgent,
    clock,
    random: options.random ?? seededRandom(1),
    requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    acquire: rateLimit === undefined ? undefined : createRateLimiter(rateLimit, clock),
    observe: options.observe,
    refused: options.refused,
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
        body: request?.body === undefined ? undefined : JSON.stringify(request.body),
        contentType: request?.contentType,
        ...callOptions(request),
      };
      return parseJson(await exchange.text(call), call) as R;
    },
  };
}
