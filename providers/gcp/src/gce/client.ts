import { LearnedRates, SharedLookup, withoutSent } from '@mcm/core/driver';
import type { Clock, Transport } from '@mcm/kube';
import { isRecord, tryParseJson, withoutUndefined } from '@mcm/kube';
import { z } from 'zod';

import { Refusal, readRefusal } from './refusal.ts';
import { type Call, type Clients, gceClients, inCall, once, type SdkRequest } from './sdk.ts';

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

export type PowerVerb = 'stop' | 'start' | 'suspend' | 'resume';

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

/**
 * The labels of an instance before a change. The read fails if a label is not a text, because the driver would remove
 * this label when it writes all labels.
 */
const labelled = z.looseObject({
  labels: z.record(z.string(), z.string()).nullish(),
  labelFingerprint: z.string(),
});

const serialPort = z.looseObject({ contents: z.string().optional(), start: z.coerce.number().optional() });

/** The labels of an instance. A change of the labels changes the fingerprint. */
export interface Labels {
  readonly labels: Readonly<Record<string, string>>;
  readonly fingerprint: string;
}

export interface GceOptions {
  readonly clock: Clock;
  readonly connect: (origin: string) => Transport;
  readonly endpoint: string;
  readonly userAgent: string;
  /** Returns the value of the Authorization header. */
  readonly authorize: (signal: AbortSignal) => Promise<string | undefined>;
  readonly refused?: (authorization: string) => void;
  /** The rate limits of the account. */
  readonly rates?: LearnedRates | undefined;
}

/**
 * Parses a value with a schema.
 * @throws Error that omits the message of the SDK, because the message would quote the response
 */
function readAs<T>(schema: z.ZodType<T>, value: unknown, type: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`an invalid response, which is not a ${type} of Compute Engine`);
}

/**
 * Removes null values from a response. In the original, null counts as absent, but the SDK would refuse the whole
 * response.
 */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  const known = Object.entries(value).filter(([, each]) => each !== null);
  return Object.fromEntries(known.map(([name, each]) => [name, withoutNulls(each)]));
}

/** The maximum number of attempts for a throttled call. Such a call had no effect, so a retry is safe. */
const ATTEMPTS = 10;

/**
 * Returns only the properties that the driver uses. The SDK creates an object for every property, which would double
 * the cost of a listing.
 */
const pick =
  (...names: readonly string[]) =>
  (answer: object): object =>
    Object.fromEntries(Object.entries(answer).filter(([name]) => names.includes(name)));

const ofOperation = pick('name', 'status', 'error');
const INSTANCE = ['name', 'creationTimestamp', 'labels', 'tags', 'status', 'statusMessage', 'lastStartTimestamp'];
/**
 * Returns the fields of an instance that the driver uses. Invalid labels are removed, because one invalid label would
 * make the SDK refuse the whole listing.
 */
const ofInstance = (answer: object): object => {
  const { labels, ...rest } = pick(...INSTANCE)(answer) as { readonly labels?: unknown };
  const known = instance.shape.labels.safeParse(labels).data;
  return known ? { ...rest, labels: known } : rest;
};
const ofLabels = pick('labels', 'labelFingerprint');
const ofSerialPort = pick('contents', 'start');
const ofPage = (page: object): object => {
  const { items, nextPageToken } = page as { readonly items?: unknown; readonly nextPageToken?: unknown };
  const picked = Array.isArray(items)
    ? items.map((item: unknown) => (item instanceof Object ? ofInstance(item) : item))
    : items;
  return {
    items: picked,
    nextPageToken,
  };
};

/** The methods throw `Refusal`, `SdkFailed`, or the error of the connection. */
export class Gce {
  readonly #options: GceOptions;
  readonly #transport: Transport;
  readonly #rates: LearnedRates;
  /** The shared lookups of instances, by project and zone. */
  readonly #lookups = new Map<string, SharedLookup<Instance>>();

  constructor(options: GceOptions) {
    this.#options = options;
    this.#rates = options.rates ?? new LearnedRates(options.clock);
    this.#transport = options.connect(options.endpoint);
  }

  async insert(
    project: string,
    zone: string,
    body: object,
    requestId: string,
    signal: AbortSignal,
  ): Promise<Operation> {
    const request = { project, zone, requestId, instanceResource: body };
    const [{ latestResponse }] = await this.#call('insert', { pick: ofOperation, body, signal }, ({ instances }) =>
      instances.insert(request, once()),
    );
    return readAs(operation, latestResponse, 'operation');
  }

  async get(project: string, zone: string, name: string, signal: AbortSignal): Promise<Instance> {
    const request = { project, zone, instance: name };
    const [found] = await this.#call('get', { pick: ofInstance, signal }, ({ instances }) =>
      instances.get(request, once()),
    );
    return readAs(instance, found, 'instance');
  }

  /** Reads the labels of an instance, and their fingerprint. */
  async labels(project: string, zone: string, name: string, signal: AbortSignal): Promise<Labels> {
    const request = { project, zone, instance: name };
    const [found] = await this.#call('get', { pick: ofLabels, signal }, ({ instances }) =>
      instances.get(request, once()),
    );
    const { labels, labelFingerprint: fingerprint } = readAs(labelled, found, 'instance');
    return { labels: labels ?? {}, fingerprint };
  }

  /** Replaces all labels of an instance, unless its labels have changed since they were read. */
  async setLabels(
    project: string,
    zone: string,
    name: string,
    { labels, fingerprint }: Labels,
    signal: AbortSignal,
  ): Promise<Operation> {
    const body = { labels, labelFingerprint: fingerprint };
    const request = { project, zone, instance: name, instancesSetLabelsRequestResource: body };
    const [{ latestResponse }] = await this.#call('setLabels', { pick: ofOperation, body, signal }, ({ instances }) =>
      instances.setLabels(request, once()),
    );
    return readAs(operation, latestResponse, 'operation');
  }

  /** Reads the newest `bytes` that the first serial port printed, and their position in the complete output. */
  async serialPort(project: string, zone: string, name: string, bytes: number, signal: AbortSignal) {
    const request = { project, zone, instance: name, port: 1, start: `-${bytes}` };
    const [found] = await this.#call('serialPort', { pick: ofSerialPort, signal }, ({ instances }) =>
      instances.getSerialPortOutput(request, once()),
    );
    const { contents = '', start = 0 } = readAs(serialPort, found, 'serial port');
    return { contents, start };
  }

  async delete(
    project: string,
    zone: string,
    name: string,
    requestId: string,
    signal: AbortSignal,
  ): Promise<Operation> {
    const request = { project, zone, instance: name, requestId };
    const [{ latestResponse }] = await this.#call('delete', { pick: ofOperation, signal }, ({ instances }) =>
      instances.delete(request, once()),
    );
    return readAs(operation, latestResponse, 'operation');
  }

  async power(verb: PowerVerb, project: string, zone: string, name: string, signal: AbortSignal): Promise<Operation> {
    const request = { project, zone, instance: name };
    const [{ latestResponse }] = await this.#call(verb, { pick: ofOperation, signal }, ({ instances }) =>
      instances[verb](request, once()),
    );
    return readAs(operation, latestResponse, 'operation');
  }

  async operation(project: string, zone: string, name: string, signal: AbortSignal): Promise<Operation> {
    const request = { project, zone, operation: name };
    const [found] = await this.#call('operations', { pick: ofOperation, signal }, ({ operations }) =>
      operations.get(request, once()),
    );
    return readAs(operation, found, 'operation');
  }

  async list(project: string, zone: string, signal: AbortSignal): Promise<readonly Instance[]> {
    const found: Instance[] = [];
    let pageToken = '';
    do {
      const request = withoutUndefined({ project, zone, pageToken: pageToken || undefined });
      // Each page of a listing has its own number of attempts.
      const [, , page] = await this.#call('list', { pick: ofPage, signal }, ({ instances }) =>
        instances.list(request, { ...once(), autoPaginate: false }),
      );
      found.push(...(page?.items ?? []).map((each) => readAs(instance, each, 'instance')));
      pageToken = page?.nextPageToken ?? '';
    } while (pageToken !== '');
    return found;
  }

  /** Finds the instances with the given name. Concurrent lookups in one zone share one listing. */
  named(project: string, zone: string, name: string, signal: AbortSignal): Promise<readonly Instance[]> {
    const key = `${project}/${zone}`;
    const known = this.#lookups.get(key);
    const shared =
      known ??
      new SharedLookup<Instance>(
        (_names, until) => this.list(project, zone, until),
        (found) => found.name,
        this.#options.clock,
        Number.POSITIVE_INFINITY,
      );
    if (!known) this.#lookups.set(key, shared);
    return shared.find(name, signal);
  }

  async #call<T>(
    kind: string,
    { pick: read, body, signal }: Question,
    ask: (clients: Clients) => Promise<T>,
  ): Promise<T> {
    const rate = this.#rates.of(kind);
    const call: Call = { send: (request) => this.#send(request, read, signal), body };
    for (let attempt = 1; ; attempt++) {
      await rate.take(signal);
      try {
        const result = await inCall(kind, call, () => ask(gceClients()));
        rate.succeeded();
        return result;
      } catch (error) {
        if (!(error instanceof Refusal && error.throttles)) throw error;
        rate.throttled(error.retryAfterMs);
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #send({ method, path, body }: SdkRequest, read: Question['pick'], signal: AbortSignal): Promise<string> {
    const { authorize, refused, clock, userAgent } = this.#options;
    const authorization = await authorize(signal);
    const headers = withoutUndefined({
      accept: 'application/json',
      'user-agent': userAgent,
      authorization,
      'content-type': body === undefined ? undefined : 'application/json',
    });
    const request = { method, path, headers, signal, body };
    const response = await this.#transport(request);
    const answer = tryParseJson(withoutSent(await response.text(), request));
    if (response.status === 401 && authorization !== undefined) refused?.(authorization);
    if (response.status >= 300) throw readRefusal(response.status, response.headers, answer, clock.now());
    // The response is checked before the SDK reads it, because the SDK treats an unknown response as an empty success.
    if (typeof answer === 'object' && answer !== null && !Array.isArray(answer))
      return JSON.stringify(withoutNulls(read(answer)));
    throw new Error(`${method} ${path.replace(/\?.*/, '')}: the response is not from Compute Engine`);
  }
}

interface Question {
  readonly pick: (answer: object) => object;
  readonly body?: object;
  readonly signal: AbortSignal;
}
