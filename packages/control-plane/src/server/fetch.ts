import { BODY_LIMIT, type ServerRequest, type ServerResponse, type Sink } from '../apimachinery/http/exchange.ts';
import { headerText, splitValues } from '../apimachinery/http/header-text.ts';
import { queryOf } from '../apimachinery/http/query.ts';
import { warningHeader } from '../apimachinery/http/warnings.ts';
import { StatusError } from '../apimachinery/objects/status.ts';

export const tooLarge = (): StatusError =>
  new StatusError({
    message: `Request entity too large: limit is ${BODY_LIMIT}`,
    reason: 'RequestEntityTooLarge',
    code: 413,
  });

/** @param trusted Whether a request has the permissions of the administrator if the request has no credentials. */
export function fromFetch(request: Request, trusted: boolean): ServerRequest {
  const { url } = request;
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const hash = url.indexOf('#');
  const target = start < 0 ? '/' : url.slice(start, hash < 0 ? undefined : hash);
  const mark = target.indexOf('?');
  let query: URLSearchParams | undefined;
  let body: Promise<Uint8Array> | undefined;
  return {
    method: request.method,
    path: mark < 0 ? target : target.slice(0, mark),
    get query() {
      query ??= queryOf(target);
      return query;
    },
    header: (name) => {
      const value = request.headers.get(name);
      return value === null ? undefined : headerText(value);
    },
    headerValues: (name) => splitValues(request.headers.get(name)),
    headerNames: (prefix) => [...request.headers.keys()].filter((name) => name.startsWith(prefix)),
    body: () => {
      body ??= readBody(request);
      return body;
    },
    signal: request.signal,
    trusted,
  };
}

async function readBody(request: Request): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > BODY_LIMIT) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > BODY_LIMIT) throw tooLarge();
  return bytes;
}

/** The maximum number of unread bytes in a stream. If a stream contains more, the writer must wait. */
const HIGH_WATER_MARK = 256 * 1024;

/**
 * Returns a stream that refers to the request. Without the reference, a garbage collection would disconnect the signal
 * of the request.
 */
function streamOf(run: (sink: Sink) => void, request: Request): ReadableStream<Uint8Array> {
  const { signal } = request;
  const drains: (() => void)[] = [];
  const closes: (() => void)[] = [];
  let closed = false;
  const close = (): void => {
    if (closed) return;
    closed = true;
    for (const listener of closes) listener();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const abort = (): void => {
          if (closed) return;
          close();
          controller.error(signal.reason);
        };
        if (signal.aborted) {
          abort();
          return;
        }
        signal.addEventListener('abort', abort, { once: true });
        closes.push(() => request.signal.removeEventListener('abort', abort));
        run({
          write(chunk) {
            if (closed) return true;
            controller.enqueue(chunk);
            return (controller.desiredSize ?? 1) > 0;
          },
          onDrain: (listener) => drains.push(listener),
          onClose: (listener) => closes.push(listener),
          end() {
            if (closed) return;
            close();
            controller.close();
          },
        });
      },
      pull() {
        for (const listener of drains) listener();
      },
      cancel: close,
    },
    { highWaterMark: HIGH_WATER_MARK, size: (chunk) => chunk?.byteLength ?? 0 },
  );
}

export function toFetch(response: ServerResponse, request: Request): Response {
  const headers = new Headers(response.headers);
  for (const warning of response.warnings ?? []) headers.append('warning', warningHeader(warning));
  const { body, status } = response;
  if (request.method === 'HEAD' || status === 304) return new Response(null, { status, headers });
  if (typeof body === 'function') return new Response(streamOf(body, request), { status, headers });
  // `Response` adds a content type to a text.
  const bytes = typeof body === 'string' && !headers.has('content-type') ? new TextEncoder().encode(body) : body;
  if (status === 204) return new Response(null, { status, headers });
  headers.set('content-length', String(typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.byteLength));
  return new Response(bytes as string | Uint8Array<ArrayBuffer>, { status, headers });
}
