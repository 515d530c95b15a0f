import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { foreignRefusal, type Logger, type Transport } from '@mcm/kube';
import { headersOf } from './answer.ts';

export interface ListenOptions {
  /** On 127.0.0.1; 0 takes a free one. */
  readonly port: number;
  /** PEM; absent: plain http. */
  readonly tls?: { readonly key: string; readonly certificate: string };
  readonly log: Logger;
}

/** A server that listens on the loopback interface. */
export interface Listener {
  /** `https://127.0.0.1:6443`. */
  readonly origin: string;
  /** Called when the origin is known. Requests wait until then. */
  serve(transport: Transport): void;
  close(): Promise<void>;
}

/** No request of these clouds is larger. */
const LARGEST_BODY = 4 * 1024 * 1024;

/** Puts a transport on a port of the loopback address. @throws Error of the operating system when the port is taken */
export async function listen({ port, tls, log }: ListenOptions): Promise<Listener> {
  const ready = Promise.withResolvers<Transport>();
  const handle: RequestListener = (request, response) => {
    pass(request, response, ready.promise).catch((error: unknown) => {
      // A lost answer is a connection that ends; anything else is a fault of the emulator and must be seen.
      if (!(error instanceof Error && error.name === 'ConnectionLost'))
        log.error('Cannot answer a request', { path: request.url, error });
      response.destroy();
    });
  };
  const server: Server = tls ? createTlsServer({ key: tls.key, cert: tls.certificate }, handle) : createServer(handle);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const bound = server.address();
  const at = typeof bound === 'object' && bound ? bound.port : port;
  return {
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${at}`,
    serve: ready.resolve,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function pass(request: IncomingMessage, response: ServerResponse, ready: Promise<Transport>): Promise<void> {
  const foreign = foreignRefusal(request);
  if (foreign !== undefined) {
    response.writeHead(foreign.status, { 'content-type': 'text/plain' }).end(foreign.body);
    return;
  }
  const transport = await ready;
  const body = await read(request);
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client closed the connection')));
  const answer = await transport({
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    ...(body === '' ? {} : { body }),
    signal: gone.signal,
  });
  const text = await answer.text();
  response.writeHead(answer.status, { ...headersOf(answer), 'content-length': Buffer.byteLength(text) });
  response.end(request.method === 'HEAD' ? '' : text);
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw new Error(`a body of more than ${LARGEST_BODY} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
