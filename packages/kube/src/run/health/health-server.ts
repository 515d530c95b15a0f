import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { ServingPair } from '../../admission/server.ts';
import { errorText } from '../../base/error-text.ts';
import { ConfigError } from '../../credentials/cluster-config.ts';
import type { Access, Refusal } from '../cluster/access.ts';
import { foreignRefusal } from './foreign.ts';
import { type Audience, answerHealth, audienceOf, type HealthAnswer, type HealthSources } from './health.ts';

export interface HealthServer {
  /** The URL for clients on this machine, `http://address:port` with the actual port. */
  readonly url: string;
  close(): Promise<void>;
}

export interface SecureHealthServer extends HealthServer {
  use(pair: ServingPair): void;
}

/** The address of a server, with the name of its flag for errors about the port. */
export interface ServingAddress {
  readonly host: string;
  readonly port: number;
  readonly flag: string;
}

/** The access checks for each audience; without a check, every client has access. */
export type Guards = Readonly<Partial<Record<Audience, Access>>>;

/** The maximum size of a request body, which can only contain a log level. */
const BODY_LIMIT = 1024;

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > BODY_LIMIT) break;
  }
  return text;
}

const send = (response: ServerResponse, { status, contentType, body }: HealthAnswer): void => {
  const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  const headers = { 'content-type': contentType, 'content-length': Buffer.byteLength(body), ...challenge };
  response.writeHead(status, headers).end(body);
};

const text = (status: number, body: string): HealthAnswer => ({ status, contentType: 'text/plain', body });

function guard(request: IncomingMessage, path: string, guards: Guards): Promise<Refusal> {
  const { method = 'GET', socket, headers } = request;
  const audience = audienceOf(path);
  const foreign = audience === 'anyone' ? undefined : foreignRefusal(request);
  const access = guards[audience];
  if (foreign !== undefined || access === undefined) return Promise.resolve(foreign);
  const { remoteAddress } = socket;
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  return access({ remoteAddress, authorization: headers.authorization, path, verb });
}

const answering =
  (sources: HealthSources, guards: Guards) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const { method = 'GET', url: target = '/' } = request;
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const answer = async (): Promise<HealthAnswer> => {
      const refusal = await guard(request, target.split('?', 1)[0] ?? '', guards);
      if (refusal !== undefined) return text(refusal.status, refusal.body);
      const asked = { method, target, body: () => bodyOf(request), signal: gone.signal };
      return (await answerHealth(asked, sources)) ?? text(404, 'not found\n');
    };
    answer().then(
      (answered) => send(response, answered),
      (error: unknown) => send(response, text(500, `${errorText(error)}\n`)),
    );
  };

const listen = (server: Server, { host, port, flag }: ServingAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const busy = 'code' in error && error.code === 'EADDRINUSE';
      reject(
        new ConfigError(
          busy
            ? `${flag}: ${port} on ${host} is in use; use another port`
            : `--bind-address ${host}, ${flag} ${port}: cannot listen on the port: ${error.message}`,
        ),
      );
    });
    server.listen(port, host, resolve);
  });

const urlOf = (scheme: string, server: Server): string => {
  const address = server.address();
  if (address === null || typeof address === 'string') return '';
  // Clients cannot connect to the wildcard address, so the URL contains the loopback address.
  const reachable = address.address === '0.0.0.0' ? '127.0.0.1' : address.address === '::' ? '::1' : address.address;
  const host = reachable.includes(':') ? `[${reachable}]` : reachable;
  return `${scheme}://${host}:${address.port}`;
};

const closing = (server: Server) => (): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/**
 * Starts a server for plain HTTP.
 * @throws ConfigError if the port is in use
 */
export async function startHealthServer(
  address: ServingAddress,
  sources: HealthSources,
  guards: Guards,
): Promise<HealthServer> {
  const server = createHttpServer(answering(sources, guards));
  await listen(server, address);
  return { url: urlOf('http', server), close: closing(server) };
}

/** Starts a server for HTTPS, which protects the tokens of clients. */
export async function startSecureHealthServer(
  address: ServingAddress,
  pair: ServingPair,
  sources: HealthSources,
  guards: Guards,
): Promise<SecureHealthServer> {
  const server = createHttpsServer({ ...pair, minVersion: 'TLSv1.2' }, answering(sources, guards));
  await listen(server, address);
  return {
    url: urlOf('https', server),
    use: ({ cert, key }) => server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
    close: closing(server),
  };
}
