import { LearnedRate, withoutSent } from '@mcm/core/driver';
import type { Clock, Transport } from '@mcm/kube';
import { z } from 'zod';
import { parseJson } from './json.ts';
import { Refusal, readRefusal } from './refusal.ts';

const operation = z.looseObject({
  name: z.string(),
  status: z.string().optional(),
  error: z
    .looseObject({
      errors: z.array(z.looseObject({ code: z.string().nullish(), message: z.string().nullish() })).nullish(),
    })
    .nullish(),
});
export type Operation = z.infer<typeof operation>;

const instance = z.looseObject({
  name: z.string().optional(),
  creationTimestamp: z.string().optional(),
  labels: z.record(z.string(), z.string()).nullish().catch(undefined),
  tags: z.looseObject({ items: z.array(z.string()).nullish() }).nullish(),
  status: z.string().optional(),
  statusMessage: z.string().optional(),
  lastStartTimestamp: z.string().optional(),
});
export type Instance = z.infer<typeof instance>;

const serialPort = z.looseObject({ contents: z.string().optional(), start: z.coerce.number().optional() });

const page = z.looseObject({ items: z.array(instance).nullish(), nextPageToken: z.string().optional() });

export interface GceOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  readonly endpoint: string;
  readonly userAgent: string;
  /** Value of the Authorization header; undefined: none is sent. */
  readonly authorize: (signal: AbortSignal) => Promise<string | undefined>;
  /** Told of what `authorize` gave and Google did not take. */
  readonly refused?: (authorization: string) => void;
}

/** A throttled call has done nothing and is sent again, so often at most. */
const ATTEMPTS = 10;

const segment = (text: string): string => encodeURIComponent(text);

/** The part of Compute Engine's REST API that the driver uses. Throws `Refusal`, or what the transport threw. */
export class Gce {
  readonly #options: GceOptions;
  readonly #transport: Transport;
  readonly #rates = new Map<string, LearnedRate>();

  constructor(options: GceOptions) {
    this.#options = options;
    this.#transport = options.connect(options.endpoint);
  }

  insert(project: string, zone: string, body: object, requestId: string, signal: AbortSignal): Promise<Operation> {
    const path = `${this.#instances(project, zone)}?requestId=${requestId}`;
    return this.#call('insert', operation, 'POST', path, signal, body);
  }

  get(project: string, zone: string, name: string, signal: AbortSignal): Promise<Instance> {
    return this.#call('get', instance, 'GET', `${this.#instances(project, zone)}/${segment(name)}`, signal);
  }

  /** The newest `bytes` of the first serial port, and where in all of it they begin. */
  async serialPort(project: string, zone: string, name: string, bytes: number, signal: AbortSignal) {
    const path = `${this.#instances(project, zone)}/${segment(name)}/serialPort?port=1&start=-${bytes}`;
    const { contents = '', start = 0 } = await this.#call('serialPort', serialPort, 'GET', path, signal);
    return { contents, start };
  }

  delete(project: string, zone: string, name: string, requestId: string, signal: AbortSignal): Promise<Operation> {
    const path = `${this.#instances(project, zone)}/${segment(name)}?requestId=${requestId}`;
    return this.#call('delete', operation, 'DELETE', path, signal);
  }

  operation(project: string, zone: string, name: string, signal: AbortSignal): Promise<Operation> {
    const path = `/compute/v1/projects/${segment(project)}/zones/${segment(zone)}/operations/${segment(name)}`;
    return this.#call('operations', operation, 'GET', path, signal);
  }

  /** All instances of a zone, over all pages. */
  async list(project: string, zone: string, signal: AbortSignal): Promise<readonly Instance[]> {
    const found: Instance[] = [];
    let token = '';
    do {
      const path = `${this.#instances(project, zone)}${token ? `?pageToken=${segment(token)}` : ''}`;
      const { items, nextPageToken = '' } = await this.#call('list', page, 'GET', path, signal);
      found.push(...(items ?? []));
      token = nextPageToken;
    } while (token !== '');
    return found;
  }

  #instances(project: string, zone: string): string {
    return `/compute/v1/projects/${segment(project)}/zones/${segment(zone)}/instances`;
  }

  async #call<T>(
    kind: string,
    schema: z.ZodType<T>,
    method: string,
    path: string,
    signal: AbortSignal,
    body?: object,
  ): Promise<T> {
    const rate = this.#rateOf(kind);
    for (let attempt = 1; ; attempt++) {
      await rate.take(signal);
      try {
        const result = await this.#send(schema, method, path, signal, body);
        rate.succeeded();
        return result;
      } catch (error) {
        if (!(error instanceof Refusal && error.throttles)) throw error;
        rate.throttled(error.retryAfterMs);
        if (attempt === ATTEMPTS) throw error;
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

  async #send<T>(schema: z.ZodType<T>, method: string, path: string, signal: AbortSignal, body?: object): Promise<T> {
    const { authorize, refused, clock, userAgent } = this.#options;
    const authorization = await authorize(signal);
    const headers = {
      accept: 'application/json',
      'user-agent': userAgent,
      ...(authorization === undefined ? {} : { authorization }),
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const request = { method, path, headers, signal, ...(body ? { body: JSON.stringify(body) } : {}) };
    const response = await this.#transport(request);
    const answer = parseJson(withoutSent(await response.text(), request));
    if (response.status === 401 && authorization !== undefined) refused?.(authorization);
    if (response.status >= 300) throw readRefusal(response.status, response.headers, answer, clock.now());
    const parsed = schema.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new Error(`${method} ${path.replace(/\?.*/, '')}: an answer that is none of Compute Engine's`);
  }
}
