import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { undiciTransport } from './undici.ts';

const portOf = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

/** A SOCKS5 proxy without a login (RFC 1928), which connects all clients to one port. */
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

test('the client uses the SOCKS5 protocol with a SOCKS5 proxy, not TLS', async () => {
  const api = createHttpServer((request, response) => response.end(`{"path":"${request.url}"}`));
  const seen: number[] = [];
  const proxy = await portOf(socksTo(await portOf(api), seen));
  const transport = undiciTransport({ server: 'http://api.example:80', proxyUrl: `socks5://127.0.0.1:${proxy}` });
  try {
    const answer = await transport({ method: 'GET', path: '/version', headers: {} });
    expect(await answer.text()).toBe('{"path":"/version"}');
    expect(seen).toEqual([5]);
  } finally {
    await transport.close();
  }
});
