import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { foreignRefusal, type Logger, type Transport } from '@mcm/kube';
import { headersOf } from './answer.ts';

export interface ListenOptions {
  /** The port of the server. If the port is 0, the operating system selects a free port. */
  readonly port: number;
  /** Without `tls`, the server uses plain HTTP. */
  readonly tls?: { readonly key: string; readonly certificate: string };
  readonly log: Logger;
  /**
   * The hosts for which the server is a proxy. After a `CONNECT` request for such a host, the server responds itself.
   */
  readonly hosts?: readonly string[];
}

/** A server that listens on the loopback interface. */
export interface Listener {
  readonly origin: string;
  /** Sets the handler of requests. */
  serve(transport: Transport): void;
  close(): Promise<void>;
}

const LARGEST_BODY = 4 * 1024 * 1024;

/**
 * Listens for requests on the loopback interface.
 * @throws Error of the operating system, for example if the port is in use
 */
export async function listen({ port, tls, log, hosts = [] }: ListenOptions): Promise<Listener> {
  const ready = Promise.withResolvers<Transport>();
  const handle: RequestListener = (request, response) => {
    pass(request, response, { ready: ready.promise, hosts }).catch((error: unknown) => {
      if (!(error instanceof Error && error.name === 'ConnectionLost'))
        log.error('The emulator cannot answer a request', { path: request.url, error });
      response.destroy();
    });
  };
  const server: Server = tls ? createTlsServer({ key: tls.key, cert: tls.certificate }, handle) : createServer(handle);
  const endTunnels = acceptTunnels(server, hosts);
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
        endTunnels();
      }),
  };
}

/**
 * Accepts `CONNECT` requests only for the emulated hosts.
 * @returns a function that ends the tunneled connections
 */
function acceptTunnels(server: Server, hosts: readonly string[]): () => void {
  const open = new Set<Duplex>();
  server.on('connect', ({ url = '' }: IncomingMessage, socket: Duplex, head: Buffer) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    // An error of the socket means that the client has ended the connection.
    socket.on('error', () => socket.destroy());
    if (!hosts.some((host) => url === `${host}:443`)) {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) socket.unshift(head);
    server.emit('connection', socket);
  });
  return () => {
    for (const socket of open) socket.destroy();
  };
}

/** Returns true if a client has verified the certificate of the server for an emulated host. */
function isPlayed({ socket, headers }: IncomingMessage, hosts: readonly string[]): boolean {
  const name = socket instanceof TLSSocket ? socket.servername : undefined;
  return typeof name === 'string' && hosts.includes(name) && headers.host?.replace(/:443$/, '') === name;
}

interface Served {
  readonly ready: Promise<Transport>;
  readonly hosts: readonly string[];
}

async function pass(request: IncomingMessage, response: ServerResponse, { ready, hosts }: Served): Promise<void> {
  const foreign = isPlayed(request, hosts) ? undefined : foreignRefusal(request);
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
    body: body === '' ? undefined : body,
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
    if (size > LARGEST_BODY) throw new Error(`the request body is larger than ${LARGEST_BODY} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
