import { LearnedRate, retryAfterOf, TokenRefused, TokenUnavailable, withoutSent } from '@mcm/core/driver';
import { type Clock, type Random, sleep, type Transport, type TransportResponse } from '@mcm/kube';
import { z } from 'zod';
import { ArmError, parseJson } from './error.ts';

export interface ArmOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly connect: (origin: string) => Transport;
  /** Origin of the management API. */
  readonly endpoint: string;
  readonly userAgent: string;
  readonly authorize: (signal: AbortSignal) => Promise<string | undefined>;
  /** Told of what `authorize` gave and Azure did not take. */
  readonly refused?: (authorization: string) => void;
}

/** One request: a path below the endpoint with its version of the API. */
export interface ArmRequest {
  readonly method: string;
  readonly path: string;
  readonly version: string;
  readonly body?: object;
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
/** A cloud that wants a longer pause gets it between two calls, not within one. */
const LONGEST_PAUSE_MS = 60_000;
const POLL_MS = 30_000;

const operation = z.looseObject({ status: z.string().optional() });
const resource = z.looseObject({ properties: z.looseObject({ provisioningState: z.string().optional() }).optional() });

const stateOf = (body: unknown): string | undefined => resource.safeParse(body).data?.properties?.provisioningState;
const isOver = (state: string): boolean => /^(succeeded|failed|canceled|cancelled)$/i.test(state);
const isDone = (state: string): boolean => /^succeeded$/i.test(state);

/** Azure Resource Manager over REST: requests, and operations that take long. Throws `ArmError`, or what the transport threw. */
export class Arm {
  readonly #options: ArmOptions;
  readonly #transport: Transport;
  readonly #rates = new Map<string, LearnedRate>();

  constructor(options: ArmOptions) {
    this.#options = options;
    this.#transport = options.connect(options.endpoint);
  }

  async call(request: ArmRequest, signal: AbortSignal): Promise<ArmAnswer> {
    const { method, path, version, body } = request;
    const whole = `${path}${path.includes('?') ? '&' : '?'}api-version=${version}`;
    const answer = await this.#send(method, whole, signal, body);
    // Whoever read nothing of a resource does not know that it is there.
    if (method === 'GET' && answer.text === '') throw new ArmError(`${method} ${path}`, answer.status, '', answer);
    return answer;
  }

  /** Runs a change to its end, `timeoutMs` at most; yields the resource as it is then. */
  async run(request: ArmRequest, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
    const { clock } = this.#options;
    const until = clock.now().getTime() + timeoutMs;
    const first = await this.call(request, signal);
    const { method, path, version } = request;
    if (method === 'PATCH' && first.status === 202) throw new ArmError(`${method} ${path}`, 202, first.text, first);
    const again = { method: 'GET', path, version };
    const pause = (answer: ArmAnswer, ms: number): Promise<void> =>
      this.#pause(this.#wantedPause(answer) ?? ms, until, signal);
    const monitor = first.headers.get('azure-asyncoperation') ?? first.headers.get('operation-location');
    if (monitor) {
      if (!isDone(stateOf(first.body) ?? '')) await this.#untilOver(this.#own(monitor), first, pause, signal);
      return method === 'DELETE' ? undefined : (await this.call(again, signal)).body;
    }
    const location = first.status === 202 ? first.headers.get('location') : null;
    if (location) return this.#untilGone(this.#own(location), first, pause, signal);
    if (method === 'DELETE') return undefined;
    return this.#untilProvisioned(again, first, pause, signal);
  }

  /**
   * Waits for the end of a change that another call began, `timeoutMs` at most; yields the resource as it is then.
   * @throws ArmError of status 200 when the change failed
   */
  async follow(resource: ArmRequest, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
    const until = this.#options.clock.now().getTime() + timeoutMs;
    const first = await this.call(resource, signal);
    return this.#settled(
      resource,
      first,
      (answer, ms) => this.#pause(this.#wantedPause(answer) ?? ms, until, signal),
      signal,
    );
  }

  /** Waits until a resource whose deletion another call began is no more, or is kept after all. @returns whether it is gone */
  async followGone(resource: ArmRequest, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const until = this.#options.clock.now().getTime() + timeoutMs;
    try {
      for (;;) {
        const answer = await this.call(resource, signal);
        if (!/^deleting$/i.test(stateOf(answer.body) ?? '')) return false;
        await this.#pause(this.#wantedPause(answer) ?? POLL_MS, until, signal);
      }
    } catch (thrown) {
      if (isGone(thrown)) return true;
      throw thrown;
    }
  }

  /**
   * Reads what an address that Azure handed out holds; the address is its own credential, so no token goes with it.
   * @throws Error for an address that is not of https, or an answer that is none
   */
  async read(address: string, signal: AbortSignal): Promise<string> {
    const { protocol, origin, pathname, search } = new URL(address);
    if (protocol !== 'https:') throw new Error(`${origin} is not asked: it is not of https`);
    const headers = { 'user-agent': this.#options.userAgent };
    const answer = await this.#options.connect(origin)({ method: 'GET', path: pathname + search, headers, signal });
    const text = await answer.text();
    if (answer.status >= 300) throw new Error(`${origin} answers ${answer.status}`);
    return text;
  }

  async #untilOver(path: string, first: ArmAnswer, pause: Pause, signal: AbortSignal): Promise<void> {
    await pause(first, 0);
    for (;;) {
      const answer = await this.#send('GET', path, signal);
      const { status = '' } = operation.safeParse(answer.body).data ?? {};
      if (isDone(status)) return;
      if (isOver(status)) throw new ArmError(`GET ${path}`, answer.status, answer.text, answer);
      await pause(answer, POLL_MS);
    }
  }

  async #untilGone(path: string, first: ArmAnswer, pause: Pause, signal: AbortSignal): Promise<unknown> {
    await pause(first, 0);
    for (;;) {
      const answer = await this.#send('GET', path, signal);
      if (answer.status !== 202) return answer.body;
      await pause(answer, POLL_MS);
    }
  }

  async #untilProvisioned(again: ArmRequest, first: ArmAnswer, pause: Pause, signal: AbortSignal): Promise<unknown> {
    const started = stateOf(first.body);
    if (started !== undefined && isDone(started)) return first.body;
    // 200 without a state is the end, as for Azure's SDKs; 201 without one is a beginning.
    if (started === undefined && first.status === 200 && first.body !== undefined) return first.body;
    return this.#settled(again, await this.call(again, signal), pause, signal);
  }

  /** The resource once no change of it is under way; `answer` is what was last read of it. */
  async #settled(resource: ArmRequest, answer: ArmAnswer, pause: Pause, signal: AbortSignal): Promise<unknown> {
    for (let last = answer; ; last = await this.call(resource, signal)) {
      const state = stateOf(last.body) ?? 'Succeeded';
      if (isDone(state)) return last.body;
      if (isOver(state)) throw new ArmError(`GET ${resource.path}`, last.status, last.text, last);
      await pause(last, POLL_MS);
    }
  }

  /** The path of an operation's address; a token is sent to nobody but the endpoint. */
  #own(address: string): string {
    const url = new URL(address, this.#options.endpoint);
    if (url.origin !== new URL(this.#options.endpoint).origin)
      throw new Error(`an operation of ${this.#options.endpoint} is said to be at ${url.origin}, which is not asked`);
    return url.pathname + url.search;
  }

  #wantedPause({ headers }: Pick<ArmAnswer, 'headers'>): number | undefined {
    return retryAfterOf(headers, this.#options.clock.now());
  }

  async #pause(ms: number, until: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const left = until - clock.now().getTime();
    await sleep(clock, Math.min(ms, Math.max(left, 0)), signal);
    if (clock.now().getTime() >= until) throw new Error('context deadline exceeded');
  }

  async #send(method: string, path: string, signal: AbortSignal, body?: object): Promise<ArmAnswer> {
    const { clock, random } = this.#options;
    const rate = this.#rateOf(method === 'GET' || method === 'HEAD' ? 'read' : 'write');
    for (let attempt = 1; ; attempt++) {
      await rate.take(signal);
      const pauseMs = FIRST_PAUSE_MS * (2 ** attempt - 1) * (0.8 + random.next() / 2);
      try {
        const answer = await this.#exchange(method, path, signal, body);
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

  #rateOf(kind: string): LearnedRate {
    const known = this.#rates.get(kind);
    if (known) return known;
    const made = new LearnedRate(this.#options.clock);
    this.#rates.set(kind, made);
    return made;
  }

  async #exchange(method: string, path: string, signal: AbortSignal, body?: object): Promise<ArmAnswer> {
    const { authorize, refused, userAgent, endpoint } = this.#options;
    const authorization = await authorize(signal);
    const headers = {
      accept: 'application/json',
      'user-agent': userAgent,
      ...(authorization === undefined ? {} : { authorization }),
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const sent = { method, path, headers, signal, ...(body ? { body: JSON.stringify(body) } : {}) };
    const response = await this.#transport(sent);
    const text = withoutSent(await response.text(), sent);
    const answer = { status: response.status, headers: response.headers, body: parseJson(text), text };
    if (response.status === 401 && authorization !== undefined) refused?.(authorization);
    const where = `${method} ${endpoint}${path.replace(/\?.*/, '')}`;
    if (response.status >= 300)
      throw new ArmError(where, response.status, text, {
        headers: answer.headers,
        retryAfterMs: this.#wantedPause(answer) ?? quotaResets(answer.headers),
      });
    // A proxy's page must not be read as an answer without content.
    if (text !== '' && answer.body === undefined) throw new ArmError(where, response.status, text, answer);
    return answer;
  }
}

/** A 404 without a code of Azure's comes from a proxy or a wrong endpoint. */
const isGone = (thrown: unknown): boolean => thrown instanceof ArmError && thrown.status === 404 && thrown.code !== '';

/** Nothing was sent: the machine's next try is soon enough, and asks for the token once. */
const isOfLogin = (thrown: unknown): boolean => thrown instanceof TokenRefused || thrown instanceof TokenUnavailable;

type Pause = (answer: ArmAnswer, ms: number) => Promise<void>;

/** Resource Graph's way to tell it: hours, minutes and seconds until its quota is whole again. */
function quotaResets(headers: ArmAnswer['headers']): number | undefined {
  const [, h, m, s] = /^(\d+):(\d+):(\d+)/.exec(headers.get('x-ms-user-quota-resets-after') ?? '') ?? [];
  return ((Number(h) * 60 + Number(m)) * 60 + Number(s)) * 1_000 || undefined;
}
