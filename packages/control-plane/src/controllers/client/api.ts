import type { ServerRequest, ServerResponse } from '../../apimachinery/http/exchange.ts';
import { inProcess, textOf } from '../../apimachinery/http/in-process.ts';
import { parseJson, stringifyJson } from '../../apimachinery/objects/json.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { isPlain } from '../../apimachinery/objects/plain.ts';
import type { Status } from '../../apimachinery/objects/status.ts';

/** A client with the permissions of the administrator. */
export interface PlaneClient {
  handle(request: ServerRequest): Promise<ServerResponse>;
}

export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: number;
  readonly reason: string;

  constructor(code: number, status: Partial<Status>) {
    super(status.message ?? `status ${code}`);
    this.code = code;
    this.reason = status.reason ?? '';
  }
}

export const hasCode = (error: unknown, code: number): boolean => error instanceof ApiError && error.code === code;

/** The namespace is '' for cluster-scoped objects. */
export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** A path has the form `/apis/apps/v1/namespaces/ns/deployments/web/status`. */
export function pathOf(resource: Resource, place: Place = {}): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const namespace =
    resource.namespaced && place.namespace !== undefined && place.namespace !== ''
      ? `/namespaces/${place.namespace}`
      : '';
  const name = place.name === undefined ? '' : `/${encodeURIComponent(place.name)}`;
  const subresource = place.subresource === undefined ? '' : `/${place.subresource}`;
  return `${root}${namespace}/${resource.plural}${name}${subresource}`;
}

export const resourceKey = (resource: Pick<Resource, 'group' | 'plural'>): string =>
  `${resource.group}/${resource.plural}`;

export const succeeded = ({ status }: ServerResponse): boolean => status >= 200 && status < 300;

/**
 * Removes empty lists, because kube-controller-manager sends protobuf, which cannot express an empty list. In a patch,
 * `null` replaces an empty list and removes the field. No field manager therefore owns an empty list.
 */
function withoutEmptyLists(value: unknown, instead?: null): unknown {
  if (Array.isArray(value)) return value.length === 0 ? instead : value.map((item) => withoutEmptyLists(item));
  if (!isPlain(value)) return value;
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

  /** Returns a client with the user agent of another program, which becomes the manager of the written fields. */
  as(userAgent: string): Api {
    return new Api(this.#client, userAgent);
  }

  /** Sends a request. The body is JSON unless `contentType` names another type. */
  send(
    path: string,
    method = 'GET',
    body?: unknown,
    contentType?: string,
    signal?: AbortSignal,
    accept = 'application/json',
  ): Promise<ServerResponse> {
    const headers: Record<string, string> = { 'user-agent': this.#userAgent, accept };
    if (body !== undefined) headers['content-type'] = contentType ?? 'application/json';
    const text = body === undefined ? undefined : stringifyJson(body);
    return this.#client.handle(inProcess({ method, target: path, headers, body: text, signal }));
  }

  /** @throws ApiError if the request fails */
  async call<T>(path: string, method = 'GET', body?: unknown, contentType?: string): Promise<T> {
    const response = await this.send(path, method, body, contentType);
    const answer: unknown = parseJson(textOf(response));
    if (!succeeded(response)) throw new ApiError(response.status, answer as Partial<Status>);
    return answer as T;
  }

  get(resource: Resource, place: Place): Promise<ApiObject> {
    return this.call(pathOf(resource, place));
  }

  create(resource: Resource, object: unknown, place: Place = {}): Promise<ApiObject> {
    return this.call(pathOf(resource, place), 'POST', withoutEmptyLists(object));
  }

  update(resource: Resource, object: ApiObject, subresource?: string): Promise<ApiObject> {
    const { namespace, name } = object.metadata;
    return this.call(pathOf(resource, { namespace, name, subresource }), 'PUT', withoutEmptyLists(object));
  }

  patch(resource: Resource, place: Place, patch: unknown): Promise<ApiObject> {
    return this.call(pathOf(resource, place), 'PATCH', withoutEmptyLists(patch, null), 'application/merge-patch+json');
  }

  /**
   * Sends a strategic merge patch, for built-in kinds. The API server merges lists of objects by key, so items of other
   * clients remain.
   */
  merge(resource: Resource, place: Place, patch: unknown): Promise<ApiObject> {
    return this.call(pathOf(resource, place), 'PATCH', patch, 'application/strategic-merge-patch+json');
  }

  /** Sends a server-side apply with `force`, so the field manager takes over the fields of other managers. */
  apply(resource: Resource, object: ApiObject, fieldManager: string, subresource?: string): Promise<ApiObject> {
    const { namespace, name } = object.metadata;
    const path = `${pathOf(resource, { namespace, name, subresource })}?force=true&fieldManager=${encodeURIComponent(fieldManager)}`;
    return this.call(path, 'PATCH', object, 'application/apply-patch+yaml');
  }

  delete(resource: Resource, place: Place, options: DeleteOptions = {}): Promise<unknown> {
    return this.call(pathOf(resource, place), 'DELETE', { kind: 'DeleteOptions', apiVersion: 'v1', ...options });
  }
}

/**
 * If the server refuses the call with one of the given codes, the result is undefined. For example, the code 404 is
 * allowed for a delete request.
 */
export async function allowing<T>(call: Promise<T>, ...codes: number[]): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codes.some((code) => hasCode(error, code))) return undefined;
    throw error;
  }
}
