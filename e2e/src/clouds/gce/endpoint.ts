import type { Clock, Transport, TransportResponse } from '@mcm/kube';
import { z } from 'zod';

const inserted = z.looseObject({
  name: z.string(),
  tags: z.looseObject({ items: z.array(z.string()).optional() }).optional(),
});

export interface GceInstance {
  readonly name: string;
  readonly zone: string;
  readonly tags: readonly string[];
  readonly creationTimestamp: string;
}

interface Operation {
  readonly name: string;
  readonly requestId: string | undefined;
  readonly doneAt: number;
  readonly effect: () => void;
  applied: boolean;
}

export interface GceEndpointOptions {
  readonly clock: Clock;
  readonly pageSize?: number;
  /** How long an operation takes; default 12 s. */
  readonly operationMs?: number;
}

const PATH = /^\/compute\/v1\/projects\/[^/]+\/zones\/([^/]+)\/(instances|operations)(?:\/([^/]+))?$/;

/** Enough of Compute Engine's REST API for the driver, in process: instances, and the operations that make and delete them. */
export class GceEndpoint {
  readonly instances = new Map<string, GceInstance>();
  readonly #operations = new Map<string, Operation>();
  readonly #options: GceEndpointOptions;

  constructor(options: GceEndpointOptions) {
    this.#options = options;
  }

  readonly transport: Transport = async ({ method, path: whole, body = '' }) => {
    const url = new URL(whole, 'https://compute.googleapis.com');
    const [, zone = '', kind = '', name = ''] = PATH.exec(url.pathname) ?? [];
    this.#settle();
    if (kind === 'operations') return this.#operation(decodeURIComponent(name));
    if (kind !== 'instances') return refusal(404, 'notFound', `no such path ${url.pathname}`);
    const requestId = url.searchParams.get('requestId') ?? undefined;
    if (method === 'POST') return this.#insert(decodeURIComponent(zone), JSON.parse(body), requestId);
    if (method === 'DELETE') return this.#delete(decodeURIComponent(name), requestId);
    if (name !== '') return this.#get(decodeURIComponent(name));
    return this.#list(decodeURIComponent(zone), Number(url.searchParams.get('pageToken') ?? 0));
  };

  #now(): number {
    return this.#options.clock.now().getTime();
  }

  #settle(): void {
    for (const each of this.#operations.values()) {
      if (each.applied || each.doneAt > this.#now()) continue;
      each.applied = true;
      each.effect();
    }
  }

  /** A request with an id that is known is answered with the operation that it began. */
  #begin(requestId: string | undefined, effect: () => void): TransportResponse {
    const known = [...this.#operations.values()].find(
      (each) => requestId !== undefined && each.requestId === requestId,
    );
    const { operationMs = 12_000 } = this.#options;
    const operation = known ?? {
      name: `operation-${this.#operations.size + 1}`,
      requestId,
      doneAt: this.#now() + operationMs,
      effect,
      applied: false,
    };
    this.#operations.set(operation.name, operation);
    return this.#operation(operation.name);
  }

  #operation(name: string): TransportResponse {
    const operation = this.#operations.get(name);
    if (!operation) return refusal(404, 'notFound', `The resource '${name}' was not found`);
    return json(200, { kind: 'compute#operation', name, status: operation.applied ? 'DONE' : 'RUNNING' });
  }

  /** The name is taken as soon as the insertion has begun. */
  #insert(zone: string, body: unknown, requestId: string | undefined): TransportResponse {
    const { name, tags } = inserted.parse(body);
    const replayed = [...this.#operations.values()].some(
      (each) => requestId !== undefined && each.requestId === requestId,
    );
    if (!replayed && this.instances.has(name))
      return refusal(409, 'alreadyExists', `The resource 'zones/${zone}/instances/${name}' already exists`);
    const creationTimestamp = new Date(this.#now()).toISOString();
    if (!replayed) this.instances.set(name, { name, zone, tags: tags?.items ?? [], creationTimestamp });
    return this.#begin(requestId, () => undefined);
  }

  #delete(name: string, requestId: string | undefined): TransportResponse {
    if (!this.instances.has(name)) return refusal(404, 'notFound', `The resource 'instances/${name}' was not found`);
    return this.#begin(requestId, () => this.instances.delete(name));
  }

  #get(name: string): TransportResponse {
    const found = this.instances.get(name);
    return found ? json(200, told(found)) : refusal(404, 'notFound', `The resource 'instances/${name}' was not found`);
  }

  #list(zone: string, from: number): TransportResponse {
    const { pageSize = Number.POSITIVE_INFINITY } = this.#options;
    const all = [...this.instances.values()].filter((each) => each.zone === zone);
    const next = from + pageSize < all.length ? { nextPageToken: String(from + pageSize) } : {};
    return json(200, { kind: 'compute#instanceList', items: all.slice(from, from + pageSize).map(told), ...next });
  }
}

const told = ({ name, tags, creationTimestamp }: GceInstance) => ({ name, creationTimestamp, tags: { items: tags } });

const refusal = (status: number, reason: string, message: string): TransportResponse =>
  json(status, { error: { code: status, message, errors: [{ reason, message, domain: 'global' }] } });

const json = (status: number, body: object): TransportResponse => ({
  status,
  headers: { get: () => null },
  text: async () => JSON.stringify(body),
  body: null,
});
