import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { ConfigError } from '../credentials/cluster-config.ts';
import { type AdmissionHandler, answerReview } from './review.ts';

/** A serving certificate and its key, in PEM format. */
export interface ServingPair {
  readonly cert: string;
  readonly key: string;
}

/** A running webhook server. */
export interface AdmissionServer {
  readonly port: number;
  use(pair: ServingPair): void;
  close(): Promise<void>;
}

/**
 * The maximum size of a request body. The body contains the new and the old object, and etcd limits each object to 1.5
 * MiB.
 */
const BODY_LIMIT = 4 * 1024 * 1024;

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > BODY_LIMIT) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Serves admission webhooks over HTTPS.
 * @param pair The certificate and the key.
 * @throws ConfigError when the port is in use or the certificate is invalid.
 */
export async function startAdmissionServer(
  address: { readonly host: string; readonly port: number },
  pair: ServingPair | undefined,
  handlers: Readonly<Record<string, AdmissionHandler>>,
): Promise<AdmissionServer> {
  const answer = async (request: IncomingMessage): Promise<{ status: number; body: string }> => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const handler = Object.hasOwn(handlers, path) ? handlers[path] : undefined;
    if (handler === undefined) return { status: 404, body: 'not found\n' };
    if (request.method !== 'POST') return { status: 405, body: 'POST an AdmissionReview\n' };
    const body = await bodyOf(request);
    return body === undefined ? { status: 413, body: 'too large\n' } : answerReview(body, handler);
  };
  const options = { ...pair, minVersion: 'TLSv1.2' } as const;
  const server = createServer(options, (request, response) => {
    answer(request).then(
      ({ status, body }) => response.writeHead(status, { 'content-type': 'application/json' }).end(body),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new ConfigError(`--webhook-port ${address.port}: cannot listen on the port: ${error.message}`)),
    );
    server.listen(address.port, address.host, resolve);
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : address.port,
    use: ({ cert, key }) => server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
