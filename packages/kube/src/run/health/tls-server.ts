import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { ServingPair } from '../../admission/server.ts';
import { ConfigError } from '../../credentials/cluster-config.ts';
import type { ServingAddress } from './health-server.ts';

/** A request without a body: what is sent of one is not read. */
export interface PlainRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly remoteAddress: string | undefined;
  readonly authorization: string | undefined;
  readonly accept: string | undefined;
}

/** An answer to it. */
export interface PlainAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Left out for HEAD, its length told all the same. */
  readonly body: string;
}

/** What is being served over TLS. */
export interface TlsServer {
  readonly port: number;
  /** Serves new connections with another certificate. */
  use(pair: ServingPair): void;
  close(): Promise<void>;
}

/** A token of a ServiceAccount has about a kilobyte. */
const HEADER_BYTES = 8 * 1024;
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CONNECTIONS = 1000;

/**
 * Serves answers to requests without bodies over HTTPS to machines that nobody knows yet: headers are small, slow senders
 * are cut off, connections are counted.
 * @param pair Absent: connections are refused until {@link TlsServer.use} gives one.
 * @throws ConfigError when the port cannot be had or the certificate is none
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
    server.once('error', (error) => reject(new ConfigError(`${flag} ${port}: cannot listen there: ${error.message}`)));
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
  // A body that nobody asked for would be read as the next request.
  const unread = request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
  const length = { 'content-length': String(Buffer.byteLength(body)), ...(unread && { connection: 'close' }) };
  response.writeHead(status, { ...headers, ...length }).end(request.method === 'HEAD' ? undefined : body);
}
