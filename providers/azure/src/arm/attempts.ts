import { LearnedRates, retryAfterOf, TokenRefused, TokenUnavailable, withoutSent } from '@mcm/core/driver';
import { isRecord, sleep, type Transport, type TransportResponse, tryParseJson, withoutUndefined } from '@mcm/kube';
import { ArmError } from './error.ts';
import type { ArmOptions } from './options.ts';

/** A request to Azure Resource Manager: its method, its path with the query, and its body. */
export interface ArmRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string | undefined;
}

export interface ArmAnswer {
  readonly status: number;
  readonly headers: TransportResponse['headers'];
  readonly body: unknown;
  readonly text: string;
}

const REPEATED = new Set([408, 429, 500, 502, 503, 504]);
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 800;
/**
 * The longest pause between two attempts. If Azure requests a longer pause, the call fails, and the controller retries
 * later.
 */
const LONGEST_PAUSE_MS = 60_000;

/** Sends requests with tokens at the rate that Azure allows, and retries temporary errors. */
export class Attempts {
  readonly #options: ArmOptions;
  readonly #transport: Transport;
  readonly #rates: LearnedRates;

  constructor(options: ArmOptions) {
    this.#options = options;
    this.#rates = options.rates ?? new LearnedRates(options.clock);
    this.#transport = options.connect(options.endpoint);
  }

  /** @throws ArmError for an error response, or the error of the transport */
  async send(request: ArmRequest, signal: AbortSignal): Promise<ArmAnswer> {
    const { clock, random } = this.#options;
    const rate = this.#rates.of(request.method === 'GET' || request.method === 'HEAD' ? 'read' : 'write');
    for (let attempt = 1; ; attempt++) {
      await rate.take(signal);
      const pauseMs = FIRST_PAUSE_MS * (2 ** attempt - 1) * (0.8 + random.next() / 2);
      try {
        const answer = await this.#exchange(request, signal);
        rate.succeeded();
        return answer;
      } catch (thrown) {
        signal.throwIfAborted();
        const wanted = thrown instanceof ArmError ? thrown.retryAfterMs : undefined;
        const throttled = thrown instanceof ArmError && thrown.status === 429;
        const repeatable = thrown instanceof ArmError ? REPEATED.has(thrown.status) : !isOfLogin(thrown);
        if (throttled) rate.throttled(Math.min(wanted ?? 0, LONGEST_PAUSE_MS));
        if (!repeatable || attempt === ATTEMPTS || (wanted ?? 0) > LONGEST_PAUSE_MS) throw thrown;
        await sleep(clock, Math.ceil(wanted ?? Math.min(pauseMs, LONGEST_PAUSE_MS)), signal);
      }
    }
  }

  async #exchange({ method, path, body }: ArmRequest, signal: AbortSignal): Promise<ArmAnswer> {
    const { authorize, refused, userAgent, endpoint, clock } = this.#options;
    const authorization = await authorize(signal);
    const headers = withoutUndefined({
      accept: 'application/json',
      'user-agent': userAgent,
      authorization,
      'content-type': body === undefined ? undefined : 'application/json',
    });
    const sent = { method, path, headers, signal, body };
    const response = await this.#transport(sent);
    const text = withoutSent(await response.text(), sent);
    const answer = { status: response.status, headers: response.headers, body: tryParseJson(text), text };
    if (response.status === 401 && authorization !== undefined) refused?.(authorization);
    const where = `${method} ${endpoint}${path.replace(/\?.*/, '')}`;
    if (response.status >= 300)
      throw new ArmError(where, response.status, text, {
        headers: answer.headers,
        retryAfterMs: retryAfterOf(answer.headers, clock.now()) ?? quotaResets(answer.headers),
      });
    // Every response of Resource Manager with a body is a JSON object.
    if (text !== '' && !isRecord(answer.body)) throw new ArmError(where, response.status, text, answer);
    return answer;
  }
}

/**
 * Returns true if the error comes from a login. After a failed login, the client sends no request, and the next retry
 * requests a token again.
 */
const isOfLogin = (thrown: unknown): boolean => thrown instanceof TokenRefused || thrown instanceof TokenUnavailable;

/**
 * Returns the time until an exhausted quota is reset. Resource Graph returns the remaining time in a header, as hours,
 * minutes and seconds.
 */
function quotaResets(headers: ArmAnswer['headers']): number | undefined {
  const [, h, m, s] = /^(\d+):(\d+):(\d+)/.exec(headers.get('x-ms-user-quota-resets-after') ?? '') ?? [];
  return ((Number(h) * 60 + Number(m)) * 60 + Number(s)) * 1_000 || undefined;
}
