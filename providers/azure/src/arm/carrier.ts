import { AsyncLocalStorage } from 'node:async_hooks';
import type { HttpClient, HttpHeaders, PipelineRequest, PipelineResponse } from '@azure/core-rest-pipeline';
import { retryAfterOf } from '@mcm/core/driver';
import { z } from 'zod';
import { type ArmAnswer, Attempts } from './attempts.ts';
import { ArmError } from './error.ts';
import type { ArmOptions } from './options.ts';

export interface Beginning {
  readonly state: string | undefined;
  readonly ended: boolean;
  readonly operation?: { readonly path: string; readonly header: 'azure-asyncoperation' | 'location' };
}

export interface Call {
  readonly signal: AbortSignal;
  /** Whether the first request of the call starts a change. */
  readonly changes?: boolean;
  began?: Beginning;
  last?: { readonly where: string; readonly answer: ArmAnswer };
}

export const calls = new AsyncLocalStorage<Call>();

/** The API versions of the original. The driver uses these versions instead of the versions of the SDK. */
const VERSIONS: readonly (readonly [path: RegExp, version: string])[] = [
  [/\/Microsoft\.Compute\/disks\//, '2023-04-02'],
  [/\/Microsoft\.Compute\//, '2023-07-01'],
  [/\/Microsoft\.Network\//, '2023-05-01'],
  [/\/Microsoft\.ResourceGraph\//, '2021-06-01-preview'],
];

const operation = z.looseObject({ status: z.string().optional() });
const resource = z.looseObject({ properties: z.looseObject({ provisioningState: z.string().optional() }).optional() });

/** Returns true if the change has ended, with a success or a failure. */
export const isOver = (state: string): boolean => /^(succeeded|failed|canceled|cancelled)$/i.test(state);
export const isDone = (state: string): boolean => /^succeeded$/i.test(state);

/**
 * Sends the requests of the SDK over the connections of this process. The class checks each response, because the
 * checks of the SDK are not sufficient:
 * - The SDK sends requests about an operation to any host.
 * - The SDK treats content types other than JSON as an empty success.
 * - The SDK treats an operation without a status as complete.
 */
export class Carrier implements HttpClient {
  readonly #options: ArmOptions;
  readonly #attempts: Attempts;

  constructor(options: ArmOptions) {
    this.#options = options;
    this.#attempts = new Attempts(options);
  }

  async sendRequest(request: PipelineRequest): Promise<PipelineResponse> {
    const call = calls.getStore();
    if (!call) throw new Error(`${request.method} ${request.url}: the SDK sent a request outside of a call`);
    const { method, body } = request;
    const path = this.#pathOf(request.url, call);
    const answer = await this.#attempts.send(
      { method, path, body: typeof body === 'string' ? body : undefined },
      call.signal,
    );
    const where = `${method} ${path.replace(/\?.*/, '')}`;
    call.last = { where, answer };
    if (path === call.began?.operation?.path) return this.#ofOperation(request, call.began.operation.header, answer);
    // An empty response to a read does not show whether the resource exists, so it is an error.
    if (answer.text === '' && (method === 'GET' || (method === 'POST' && !call.changes)))
      throw new ArmError(where, answer.status, '', answer);
    if (method === 'PATCH' && answer.status === 202) throw new ArmError(where, 202, answer.text, answer);
    if (!call.changes || call.began) return toSdk(request, answer.status, answer.text);
    call.began = this.#beginning(answer);
    const { operation: begun } = call.began;
    return toSdk(request, answer.status, answer.text, begun ? { [begun.header]: begun.path } : {});
  }

  wantedPauseMs({ last }: Call): number | undefined {
    return last && retryAfterOf(last.answer.headers, this.#options.clock.now());
  }

  /**
   * Returns the path of a URL. Another host is refused, because the driver sends tokens only to the endpoint.
   * @throws Error
   */
  #pathOf(address: string, { began }: Call): string {
    const { pathname, search } = this.#own(address);
    const begun = began?.operation?.path;
    // The comparison ignores the query, because the SDK may add an API version to the URL of an operation.
    if (begun !== undefined && begun.replace(/\?.*/, '') === pathname) return begun;
    const version = VERSIONS.find(([pattern]) => pattern.test(pathname))?.[1];
    if (version === undefined) return pathname + search;
    const query = new URLSearchParams(search);
    query.set('api-version', version);
    return `${pathname}?${query}`;
  }

  #own(address: string): URL {
    const { endpoint } = this.#options;
    const url = new URL(address, endpoint);
    if (url.origin !== new URL(endpoint).origin)
      throw new Error(`the response of ${endpoint} refers to the address ${url.origin}, which mcm does not allow`);
    return url;
  }

  #beginning({ status, headers, body, text }: ArmAnswer): Beginning {
    const state = resource.safeParse(body).data?.properties?.provisioningState;
    // Without a state in the response, the status 200 means the end of the change, and the status 201 means its start.
    const ended = state === undefined ? status === 200 && text !== '' : isDone(state);
    const monitor = headers.get('azure-asyncoperation') ?? headers.get('operation-location');
    const address = monitor ?? (status === 202 ? headers.get('location') : null);
    if (address === null) return { state, ended };
    const { pathname, search } = this.#own(address);
    const header = monitor === null ? 'location' : 'azure-asyncoperation';
    return { state, ended, operation: { path: pathname + search, header } };
  }

  #ofOperation(request: PipelineRequest, header: string, answer: ArmAnswer): PipelineResponse {
    if (header === 'location') return toSdk(request, answer.status, answer.text);
    const { status = '' } = operation.safeParse(answer.body).data ?? {};
    if (isOver(status) && !isDone(status)) throw new ArmError(`GET ${request.url}`, answer.status, answer.text, answer);
    return toSdk(request, 200, JSON.stringify({ status: isDone(status) ? 'Succeeded' : 'InProgress' }));
  }
}

/** Converts a response to the format of the SDK. A body is parsed as JSON, even if it has another content type. */
function toSdk(
  request: PipelineRequest,
  status: number,
  text: string,
  more: Readonly<Record<string, string>> = {},
): PipelineResponse {
  const headers: Record<string, string> = { 'content-type': 'application/json', ...more };
  const readable: Pick<HttpHeaders, 'get' | 'has' | 'toJSON'> = {
    get: (name) => headers[name],
    has: (name) => name in headers,
    toJSON: () => headers,
  };
  // An empty body becomes `{}`, because the SDK reads fields of the body without a check.
  return { request, status, headers: readable as HttpHeaders, bodyAsText: text === '' ? '{}' : text };
}
