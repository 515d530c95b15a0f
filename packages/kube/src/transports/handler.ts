import type { Transport, TransportRequest, TransportResponse } from '../contract/transport.ts';

const isWatch = (path: string): boolean => /[?&]watch=(true|1)(&|$)/.test(path);

/** Rejects as soon as the signal aborts, even though the handler works on. */
function unlessAborted<R>(work: Promise<R>, signal: AbortSignal | undefined): Promise<R> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    const finish = (): void => signal.removeEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(finish);
  });
}

function toRequest(request: TransportRequest, token: string | undefined): Request {
  const headers = token === undefined ? request.headers : { ...request.headers, authorization: `Bearer ${token}` };
  return new Request(`https://127.0.0.1${request.path}`, {
    method: request.method,
    headers,
    ...(request.body === undefined ? {} : { body: request.body }),
    // Only a watch lives long enough to need its end told to the handler; a Request with a signal is costly to make.
    ...(request.signal !== undefined && isWatch(request.path) ? { signal: request.signal } : {}),
  });
}

/**
 * A `Request` follows its signal through a weak reference: once it is garbage, an abort no longer reaches the handler, and
 * a watch would continue for ever. So the signal keeps it.
 */
function holdUntilAborted(request: Request, signal: AbortSignal | undefined): void {
  signal?.addEventListener('abort', () => request.signal, { once: true });
}

/**
 * A transport that calls a server's own request handler in this process: no socket, the same answers.
 * @param token bearer token to send; absent: no `Authorization` header.
 */
export function handlerTransport(fetch: (request: Request) => Promise<Response>, token?: string): Transport {
  return async (request): Promise<TransportResponse> => {
    request.signal?.throwIfAborted();
    const asked = toRequest(request, token);
    if (isWatch(request.path)) holdUntilAborted(asked, request.signal);
    return unlessAborted(fetch(asked), request.signal);
  };
}
