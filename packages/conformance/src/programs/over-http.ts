import { createServer, type IncomingMessage, type Server } from 'node:http';
import { errorText, foreignRefusal, type Transport, type TransportResponse } from '@mcm/kube';
import type { World } from '../stage/target.ts';

const ORIGIN = 'x-mcm-cloud-origin';
/** The program removes its own headers before it passes a request to the cloud. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ORIGIN,
  'host',
  'connection',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'keep-alive',
]);

/** Returns a transport to a cloud in another process, see {@link serveCloud}. */
export const throughProcess =
  (address: string, carry: Transport) =>
  (origin: string): Transport =>
  (request): Promise<TransportResponse> =>
    carry({
      ...request,
      path: `${new URL(address).pathname.replace(/\/$/, '')}${request.path}`,
      headers: { ...request.headers, [ORIGIN]: origin },
    });

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

function headersOf(request: IncomingMessage): Readonly<Record<string, string>> {
  const all = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(all.filter(([name]) => !OWN_HEADERS.has(name)));
}

const RESOURCES = '/_emulator/resources';

/**
 * The server refuses the requests of web pages. If the cloud throws an error, the server closes the connection, as an
 * unreachable cloud does.
 */
export function serveCloud(
  { connect, inventory = () => [] }: Pick<World, 'connect' | 'inventory'>,
  port: number,
  onFault: (text: string) => void,
): Promise<Server> {
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const foreign = foreignRefusal(request);
      if (foreign !== undefined) {
        response.writeHead(foreign.status, { 'content-type': 'text/plain' }).end(foreign.body);
        return;
      }
      if (request.url === RESOURCES && request.headers[ORIGIN] === undefined) {
        const resources = (await inventory()).map((name) => ({ kind: 'resource', id: name, name, state: 'exists' }));
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ resources }));
        return;
      }
      const body = await textOf(request);
      const transport = connect(String(request.headers[ORIGIN] ?? ''));
      const call = { method: request.method ?? 'GET', path: request.url ?? '/', headers: headersOf(request) };
      const answered = await transport({ ...call, body: body !== '' ? body : undefined });
      const headers = ['content-type', 'retry-after', 'location', 'etag'].flatMap((name) => {
        const value = answered.headers.get(name);
        return value === null ? [] : [[name, value] as const];
      });
      response.writeHead(answered.status, Object.fromEntries(headers)).end(await answered.text());
    };
    answer().catch((error: unknown) => {
      onFault(errorText(error));
      response.destroy();
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
