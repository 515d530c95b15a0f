import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { realClock } from '../../apimachinery/objects/clock.ts';
import { createAuthority } from '../../certificates/authority.ts';
import { httpsTransport, type WebhookReply } from './transport.ts';

let server: Server;
let caBundle: string;
let port: number;
let connections: TLSSocket[];
let bodies: string[];
/** One entry for each of the next calls: a function that disturbs the connection, or undefined. */
let faults: (((socket: Duplex) => void) | undefined)[];

beforeEach(async () => {
  connections = [];
  bodies = [];
  faults = [];
  // Each test has its own CA, because the transport keeps connections for each CA.
  const authority = createAuthority(realClock.now());
  caBundle = authority.certificate;
  const { key, certificate } = authority.issueServer(['hook.test']);
  server = createServer({ key, cert: certificate, keepAliveTimeout: 0 }, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    bodies.push(body);
    const fault = faults.shift();
    if (fault) fault(request.socket);
    else response.end(`seen ${body}`);
  });
  server.on('secureConnection', (socket) => connections.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const call = (body: string): Promise<WebhookReply> =>
  httpsTransport({
    url: new URL('https://hook.test/review'),
    connectTo: { host: '127.0.0.1', port },
    caBundle,
    body,
    signal: new AbortController().signal,
  });

const closes = (socket: Duplex): void => void socket.destroy();

test('a connection is reused for the next call', async () => {
  expect((await call('a')).body).toBe('seen a');
  expect((await call('b')).body).toBe('seen b');
  expect(connections).toHaveLength(1);
});

test('a kept connection that closes at the moment of the call causes no failure', async () => {
  await call('a');
  connections[0]?.destroy();
  expect((await call('b')).body).toBe('seen b');
  expect(bodies).toEqual(['a', 'b']);
  expect(connections).toHaveLength(2);
});

test('a kept connection that closes after the call and before the answer causes no failure', async () => {
  await call('a');
  faults = [closes];
  expect((await call('b')).body).toBe('seen b');
  expect(bodies).toEqual(['a', 'b', 'b']);
});

test('the call is repeated only once', async () => {
  await call('a');
  faults = [closes, closes];
  await expect(call('b')).rejects.toThrow('EOF');
  expect(bodies).toEqual(['a', 'b', 'b']);
});

test('a new connection that closes causes a failure', async () => {
  faults = [closes];
  await expect(call('a')).rejects.toThrow('EOF');
  expect(bodies).toEqual(['a']);
});

test('a kept connection that closes during the answer causes a failure', async () => {
  await call('a');
  faults = [(socket) => socket.write('HTTP/1.1 200 OK\r\n', () => (socket as TLSSocket).destroy())];
  await expect(call('b')).rejects.toThrow();
  expect(bodies).toEqual(['a', 'b']);
});

test('a bundle with the certificate of the webhook itself is trusted, and another certificate is not', async () => {
  const [own, other] = ['hook.test', 'hook.test'].map((host) => createAuthority(realClock.now()).issueServer([host]));
  server.setSecureContext({ key: own?.key, cert: own?.certificate });
  caBundle = own?.certificate ?? '';
  expect((await call('a')).body).toBe('seen a');
  caBundle = other?.certificate ?? '';
  await expect(call('b')).rejects.toThrow('x509: certificate signed by unknown authority');
});
