import { MachineError, type TagChanges } from '@mcm/core/driver';
import type { Clock, Transport, TransportResponse } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import { z } from 'zod';
import { fromAnswer, fromFailure } from './errors.ts';
import { json } from './json.ts';

const cloudInstance = z.looseObject({
  id: z.string(),
  name: z.string(),
  zone: z.string(),
  state: z.enum(['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated']),
  createdAt: z.string(),
  privateIp: z.string(),
  clientToken: z.string().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  stateReason: z.string().optional(),
});
export type CloudInstance = z.infer<typeof cloudInstance>;

const consoleOutput = z.looseObject({ output: z.string() });

const instancePage = z.looseObject({ items: z.array(cloudInstance), nextPageToken: z.string().optional() });

const notices = z.looseObject({
  items: z.array(
    z.looseObject({
      id: z.string(),
      instanceId: z.string(),
      zone: z.string(),
      kind: z.enum(['Terminate', 'Maintenance', 'Ended', 'Freeze', 'Rebalance']),
      noticedAt: z.string(),
      deadline: z.string(),
      detail: z.string(),
    }),
  ),
});
export type CloudNotice = z.infer<typeof notices>['items'][number];

export interface CloudClientOptions {
  readonly transport: Transport;
  readonly token: string | undefined;
  readonly clock: Clock;
}

const REQUEST_TIMEOUT_MS = 30_000;
const POLL_SECONDS = 25;
const PAGE = 500;
const NOTICE_SECONDS = 20;

const one = (id: string): string => `/v1/instances/${encodeURIComponent(id)}`;

/** A client of the local cloud. All methods of the client throw `MachineError`. */
export class CloudClient {
  readonly #options: CloudClientOptions;

  constructor(options: CloudClientOptions) {
    this.#options = options;
  }

  /**
   * Creates an instance, or finds the instance with an equal client token. The promise resolves when the instance runs,
   * or after `POLL_SECONDS`.
   */
  async create(body: object, signal: AbortSignal): Promise<CloudInstance> {
    return this.#call('POST', `/v1/instances?wait=running&timeout=${POLL_SECONDS}s`, cloudInstance, { body, signal });
  }

  /** Terminates an instance. The promise resolves when the instance is terminated, or after `POLL_SECONDS`. */
  async terminate(id: string, signal: AbortSignal): Promise<CloudInstance> {
    return this.#call('DELETE', `${one(id)}?wait=terminated&timeout=${POLL_SECONDS}s`, cloudInstance, { signal });
  }

  /** Stops an instance. The promise resolves when the instance is stopped, or after `POLL_SECONDS`. */
  async stop(id: string, signal: AbortSignal): Promise<CloudInstance> {
    return this.#call('POST', `${one(id)}/stop?wait=stopped&timeout=${POLL_SECONDS}s`, cloudInstance, { signal });
  }

  /** Starts an instance. The promise resolves when the instance runs, or after `POLL_SECONDS`. */
  async start(id: string, signal: AbortSignal): Promise<CloudInstance> {
    return this.#call('POST', `${one(id)}/start?wait=running&timeout=${POLL_SECONDS}s`, cloudInstance, { signal });
  }

  /** Sets and removes tags. The value null removes a tag. */
  async setTags(id: string, tags: TagChanges, signal: AbortSignal): Promise<CloudInstance> {
    return this.#call('PUT', `${one(id)}/tags`, cloudInstance, { body: { tags }, signal });
  }

  async get(id: string, signal: AbortSignal): Promise<CloudInstance> {
    return this.#call('GET', one(id), cloudInstance, { signal });
  }

  /** Resolves when the instance is no longer `pending`, or after `POLL_SECONDS`. */
  async untilRunning(id: string, signal: AbortSignal): Promise<CloudInstance> {
    return this.#call('GET', `${one(id)}?wait=running&timeout=${POLL_SECONDS}s`, cloudInstance, { signal });
  }

  async console(id: string, signal: AbortSignal): Promise<string> {
    const { output } = await this.#call('GET', `${one(id)}/console`, consoleOutput, { signal });
    return output;
  }

  /** Returns the notices that no client has acknowledged. */
  async interruptions(filters: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly CloudNotice[]> {
    const query = new URLSearchParams({ ...filters, wait: 'pending', timeout: `${NOTICE_SECONDS}s` });
    return (await this.#call('GET', `/v1/interruptions?${query}`, notices, { signal })).items;
  }

  /** Acknowledges a notice. A second acknowledgment has no effect. */
  async acknowledge(id: string, signal: AbortSignal): Promise<void> {
    await this.#call('DELETE', `/v1/interruptions/${encodeURIComponent(id)}`, z.unknown(), { signal });
  }

  /** Lists the instances on all pages, except for terminated instances. */
  async list(filters: Readonly<Record<string, string>>, signal: AbortSignal): Promise<CloudInstance[]> {
    const found: CloudInstance[] = [];
    let pageToken: string | undefined;
    do {
      const query = new URLSearchParams({
        ...filters,
        limit: String(PAGE),
        ...withoutUndefined({ pageToken: pageToken || undefined }),
      });
      const page = await this.#call('GET', `/v1/instances?${query}`, instancePage, { signal });
      found.push(...page.items);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    return found;
  }

  async #call<T>(
    method: string,
    path: string,
    schema: z.ZodType<T>,
    { body, signal }: { readonly body?: object; readonly signal: AbortSignal },
  ): Promise<T> {
    const { token } = this.#options;
    const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'machine-controller-local' };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    const patience = REQUEST_TIMEOUT_MS + (path.includes('wait=') ? POLL_SECONDS * 1_000 : 0);
    const deadline = this.#deadline(patience, signal);
    try {
      signal.throwIfAborted();
      const request = { method, path, headers, signal: deadline.signal };
      const sent = body === undefined ? request : { ...request, body: JSON.stringify(body) };
      return await parse(await this.#options.transport(sent), schema);
    } catch (error) {
      throw fromFailure(error, signal, deadline.passed());
    } finally {
      deadline.clear();
    }
  }

  /** Returns a signal that aborts with the signal of the caller, or after `ms`. */
  #deadline(ms: number, caller: AbortSignal): { signal: AbortSignal; passed(): boolean; clear(): void } {
    const controller = new AbortController();
    let passed = false;
    const follow = (): void => controller.abort(caller.reason);
    caller.addEventListener('abort', follow, { once: true });
    const timer = this.#options.clock.setTimeout(() => {
      passed = true;
      controller.abort(new Error(`no response from the cloud within ${ms} ms`));
    }, ms);
    const clear = (): void => {
      timer.cancel();
      caller.removeEventListener('abort', follow);
    };
    return { signal: controller.signal, passed: () => passed, clear };
  }
}

async function parse<T>(response: TransportResponse, schema: z.ZodType<T>): Promise<T> {
  const text = await response.text();
  if (response.status >= 400) throw fromAnswer(response, text);
  const parsed = schema.safeParse(json(text));
  if (parsed.success) return parsed.data;
  throw new MachineError('Internal', `the response of the cloud is invalid: ${parsed.error.message}`);
}
