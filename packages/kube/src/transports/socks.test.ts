import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { issueAuthority, issueServing } from '../admission/self-made/issue.ts';
import { type UndiciTransportOptions, undiciTransport } from './undici.ts';

const portOf = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

function socksTo(port: number, seen: number[]): Server {
  return createServer((client) => {
    client.once('data', (greeting) => {
      seen.push(greeting[0] ?? -1);
      if (greeting[0] !== 5) return client.destroy();
      client.once('data', () => {
        const target = connect(port, '127.0.0.1', () => {
          client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
          client.pipe(target).pipe(client);
        });
        client.on('error', () => target.destroy());
        target.on('error', () => client.destroy());
      });
      client.write(Buffer.from([5, 0]));
      return undefined;
    });
  });
}

const answer = (request: IncomingMessage, response: ServerResponse): void => {
  response.end(`{"path":"${request.url}"}`);
};
const pathOf = async (options: UndiciTransportOptions): Promise<string> => {
  const transport = undiciTransport(options);
  onTestFinished(() => transport.close());
  return (await transport({ method: 'GET', path: '/version', headers: {} })).text();
};

test.each(['http', 'https'])('the client uses the SOCKS5 protocol with a SOCKS5 proxy, not TLS: %s', async (scheme) => {
  const validity = { from: new Date(0), until: new Date(Date.UTC(2099, 0)) };
  const authority = await issueAuthority(validity);
  const { cert, key } = await issueServing(authority, ['api.example'], validity);
  const api = scheme === 'http' ? createHttpServer(answer) : createHttpsServer({ cert, key }, answer);
  const seen: number[] = [];
  const proxy = await portOf(socksTo(await portOf(api), seen));
  const found = await pathOf({
    server: `${scheme}://api.example:443`,
    proxyUrl: `socks5://127.0.0.1:${proxy}`,
    ca: authority.cert,
  });
  expect(found).toBe('{"path":"/version"}');
  expect(seen).toEqual([5]);
});
