import { defined } from '../base/defined.ts';
import { unlessAborted } from '../base/unless-aborted.ts';
import { isWatch } from '../client/paths.ts';
import type { Transport, TransportRequest, TransportResponse } from '../contract/transport.ts';

function toRequest(request: TransportRequest, token: string | undefined): Request {
  const headers = token === undefined ? request.headers : { ...request.headers, authorization: `Bearer ${token}` };
  return new Request(
    `https://127.0.0.1${request.path}`,
    defined({
      method: request.method,
      headers,
      body: request.body,
      // Only watches get a signal, because a Request with a signal is expensive and other requests are short.
      signal: request.signal !== undefined && isWatch(request.path) ? request.signal : undefined,
    }),
  );
}

/**
 * A `Request` has only a weak reference to its signal, so an abort after a garbage collection would not end a watch.
 */
function holdUntilAborted(request: Request, signal: AbortSignal | undefined): void {
  signal?.addEventListener('abort', () => request.signal, { once: true });
}

/** Creates a transport that calls the request handler of a server in this process. */
export function handlerTransport(fetch: (request: Request) => Promise<Response>, token?: string): Transport {
  return async (request): Promise<TransportResponse> => {
    request.signal?.throwIfAborted();
    const asked = toRequest(request, token);
    if (isWatch(request.path)) holdUntilAborted(asked, request.signal);
    return unlessAborted(fetch(asked), request.signal);
  };
}
