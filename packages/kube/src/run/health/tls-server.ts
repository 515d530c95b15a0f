import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { ServingPair } from '../../admission/server.ts';
import { ConfigError } from '../../credentials/cluster-config.ts';
import type { ServingAddress } from './health-server.ts';

/** A request to the TLS server. The server does not read the body of a request. */
export interface PlainRequest {
  readonly method: string;
  readonly path: string;
  readonly remoteAddress: string | undefined;
  readonly authorization: string | undefined;
  readonly accept: string | undefined;
}

/** The response to a request. */
export interface PlainAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A running TLS server. */
export interface TlsServer {
  readonly port: number;
  use(pair: ServingPair): void;
  close(): Promise<void>;
}

/** The maximum size of the request headers, because a ServiceAccount token has about 1 kB. */
const HEADER_BYTES = 8 * 1024;
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CONNECTIONS = 1000;

/**
 * Starts an HTTPS server for unauthenticated clients that send requests without a body. The TLS server limits the size
 * of headers and the number of connections, and disconnects slow clients. Without a pair, the TLS server refuses
 * connections until TlsServer.use sets a pair.
 */
export async function startTlsServer(
  { host, port, flag }: ServingAddress,
  pair: ServingPair | undefined,
  answer: (request: PlainRequest) => Promise<PlainAnswer>,
): Promise<TlsServer> {
  const limits = { maxHeaderSize: HEADER_BYTES, headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS };
  const server = createServer({ ...pair, minVersion: 'TLSv1.2', ...limits }, (request, response) => {
    answer(read(request)).then(
      (answered) => send(request, response, answered),
      () => response.destroy(),
    );
  });
  server.maxConnections = CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new ConfigError(`${flag} ${port}: cannot listen on the port: ${error.message}`)),
    );
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    use: ({ cert, key }) => server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const read = ({ method = 'GET', url = '/', headers, socket }: IncomingMessage): PlainRequest => ({
  method,
  path: url.split('?', 1)[0] ?? '/',
  remoteAddress: socket.remoteAddress,
  authorization: headers.authorization,
  accept: headers.accept,
});

function send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: PlainAnswer): void {
  // The server would parse an unread body as the next request, so it closes the connection.
  const unread = request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  const closing = unread ? { connection: 'close' } : {};
  response.writeHead(status, { ...headers, ...length, ...closing }).end(request.method === 'HEAD' ? undefined : body);
}
