import { createServer, type Server, type ServerResponse } from 'node:http';
import { ConfigError } from '../credentials/cluster-config.ts';
import { errorText } from '../error-text.ts';
import { answerHealth, type HealthAnswer, type HealthSources } from './health.ts';

export interface HealthServer {
  /** `http://address:port`, as it is reached from this machine, with the port that was really taken. */
  readonly url: string;
  close(): Promise<void>;
}

const send = (response: ServerResponse, { status, contentType, body }: HealthAnswer): void => {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }).end(body);
};

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const busy = 'code' in error && error.code === 'EADDRINUSE';
      reject(
        new ConfigError(
          busy
            ? `--port: ${port} on ${host} is in use; choose another, or 0 for any`
            : `--bind-address ${host}, --port ${port}: cannot listen there: ${error.message}`,
        ),
      );
    });
    server.listen(port, host, resolve);
  });

const urlOf = (server: Server): string => {
  const address = server.address();
  if (address === null || typeof address === 'string') return '';
  // The wildcard is no address that anybody could go to.
  const reachable = address.address === '0.0.0.0' ? '127.0.0.1' : address.address === '::' ? '::1' : address.address;
  const host = reachable.includes(':') ? `[${reachable}]` : reachable;
  return `http://${host}:${address.port}`;
};

/** Serves health and metrics over plain HTTP. Throws `ConfigError` when the port cannot be had. */
export async function startHealthServer(host: string, port: number, sources: HealthSources): Promise<HealthServer> {
  const server = createServer((request, response) => {
    answerHealth(request.url ?? '/', sources).then(
      (answer) => send(response, answer ?? { status: 404, contentType: 'text/plain', body: 'not found\n' }),
      (error: unknown) => send(response, { status: 500, contentType: 'text/plain', body: `${errorText(error)}\n` }),
    );
  });
  await listen(server, host, port);
  return {
    url: urlOf(server),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
