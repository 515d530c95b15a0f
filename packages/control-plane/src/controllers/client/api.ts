import type { ServerRequest, ServerResponse } from '../../apimachinery/http/exchange.ts';
import { type InProcessRequest, inProcess, textOf } from '../../apimachinery/http/in-process.ts';
import { parseJson, stringifyJson } from '../../apimachinery/objects/json.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { type Status, StatusError } from '../../apimachinery/objects/status.ts';
import { type Place, pathOf, type Resource } from './resources.ts';

export interface PlaneClient {
  handle(request: ServerRequest): Promise<ServerResponse>;
}

export const hasCode = (error: unknown, code: number): boolean =>
  error instanceof StatusError && error.status.code === code;

/**
 * Removes empty lists from a request body, because kube-controller-manager sends protobuf, which has no empty lists. In
 * a patch, `null` replaces an empty list, so the server removes the field.
 */
function withoutEmptyLists(value: unknown, instead?: null): unknown {
  if (Array.isArray(value)) return value.length === 0 ? instead : value.map((item) => withoutEmptyLists(item));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutEmptyLists(item, instead)]));
}

export interface DeleteOptions {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export class Api {
  readonly #client: PlaneClient;
  readonly #userAgent: string;

  constructor(client: PlaneClient, userAgent = 'kube-controller-manager/v1.36.3') {
    this.#client = client;
    this.#userAgent = userAgent;
  }

  /**
   * Returns a client with another user agent. The API server uses the user agent as the manager of the written fields.
   */
  as(userAgent: string): Api {
    return new Api(this.#client, userAgent);
  }

  async send(target: string, request: Partial<InProcessRequest> = {}): Promise<ServerResponse> {
    const headers = { 'user-agent': this.#userAgent, accept: 'application/json', ...request.headers };
    const response = await this.#client.handle(inProcess({ method: 'GET', ...request, target, headers }));
    const { status: code } = response;
    if (code >= 200 && code < 300) return response;
    throw new StatusError({ ...(parseJson(textOf(response)) as Partial<Status>), code });
  }

  async call<T>(path: string, method = 'GET', body?: unknown, contentType = 'application/json'): Promise<T> {
    const content = body === undefined ? {} : { body: stringifyJson(body), headers: { 'content-type': contentType } };
    return parseJson(textOf(await this.send(path, { method, ...content }))) as T;
  }

  get(resource: Resource, place: Place): Promise<ApiObject> {
    return this.call(pathOf(resource, place));
  }

  create(resource: Resource, object: unknown, place: Place = {}): Promise<ApiObject> {
    return this.call(pathOf(resource, place), 'POST', withoutEmptyLists(object));
  }

  update(resource: Resource, object: ApiObject, subresource?: string): Promise<ApiObject> {
    const path = pathOf(resource, { ...object.metadata, subresource });
    return this.call(path, 'PUT', withoutEmptyLists(object));
  }

  patch(resource: Resource, place: Place, patch: unknown): Promise<ApiObject> {
    return this.call(pathOf(resource, place), 'PATCH', withoutEmptyLists(patch, null), 'application/merge-patch+json');
  }

  /**
   * Sends a strategic merge patch, which only built-in kinds support. The API server merges lists by key and keeps all
   * other items.
   */
  merge(resource: Resource, place: Place, patch: unknown): Promise<ApiObject> {
    return this.call(pathOf(resource, place), 'PATCH', patch, 'application/strategic-merge-patch+json');
  }

  /** Sends a server-side apply with `force`. */
  apply(resource: Resource, object: ApiObject, fieldManager: string, subresource?: string): Promise<ApiObject> {
    const path = pathOf(resource, { ...object.metadata, subresource });
    const query = `?force=true&fieldManager=${encodeURIComponent(fieldManager)}`;
    return this.call(`${path}${query}`, 'PATCH', object, 'application/apply-patch+yaml');
  }

  delete(resource: Resource, place: Place, options: DeleteOptions = {}): Promise<unknown> {
    return this.call(pathOf(resource, place), 'DELETE', { kind: 'DeleteOptions', apiVersion: 'v1', ...options });
  }
}

/** Returns undefined if the server refuses the request with one of the codes. */
export async function allowing<T>(call: Promise<T>, ...codes: number[]): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codes.some((code) => hasCode(error, code))) return undefined;
    throw error;
  }
}
