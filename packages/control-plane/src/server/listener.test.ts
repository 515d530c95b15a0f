import { connect as connectTcp } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { BODY_LIMIT, type ServerRequest } from '../apimachinery/http/exchange.ts';
import { createAuthority } from '../certificates/authority.ts';
import { startTestPlane, type TestClient } from '../testing.ts';
import { type Listener, listen } from './listener.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

function open(port: number): Promise<{ socket: TLSSocket; over: Promise<string> }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      const over = new Promise<string>((done) => socket.on('close', () => done(text)));
      resolve({ socket, over });
    });
    socket.on('error', reject);
    cleanups.push(() => socket.destroy());
  });
}

const FOREVER_MS = 600_000;
const PATIENT = { handshakeMs: FOREVER_MS, headersMs: FOREVER_MS, requestMs: FOREVER_MS, everyMs: 20 };

/** Starts a listener with short limits. */
async function impatient(limits: Partial<typeof PATIENT>): Promise<{ listener: Listener; bodies: string[] }> {
  const authority = createAuthority(new Date());
  const { key, certificate } = authority.issueServer(['127.0.0.1']);
  const bodies: string[] = [];
  const handle = async (request: ServerRequest) => {
    try {
      bodies.push(Buffer.from(await request.body()).toString());
    } catch {
      bodies.push('cut off');
    }
    return { status: 200, headers: {}, body: 'fine' };
  };
  const patience = { ...PATIENT, ...limits };
  const listener = await listen(
    { handle },
    { port: 0, key, certificate, caCertificate: authority.certificate, patience },
  );
  cleanups.push(() => listener.close());
  return { listener, bodies };
}

test('a client that sends its headers too slowly is disconnected', async () => {
  const { listener, bodies } = await impatient({ headersMs: 50 });
  const { socket, over } = await open(listener.port);
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n');
  expect(await over).toMatch(/^HTTP\/1.1 408 /);
  expect(bodies).toEqual([]);
});

test('a client that sends its body too slowly is disconnected, and its handler ends', async () => {
  const { listener, bodies } = await impatient({ headersMs: 50, requestMs: 100 });
  const { socket, over } = await open(listener.port);
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nslow');
  await over;
  expect(bodies).toEqual(['cut off']);
});

test('a client that connects without a TLS handshake is disconnected', async () => {
  const { listener } = await impatient({ handshakeMs: 50 });
  const socket = connectTcp(listener.port, '127.0.0.1');
  await new Promise((resolve) => socket.on('close', resolve).on('error', () => undefined));
});

async function plane() {
  const { plane, client } = await startTestPlane({ port: 0 });
  cleanups.push(() => plane.close());
  const head = `host: x\r\nauthorization: Bearer ${plane.adminToken}\r\ncontent-type: application/json\r\n`;
  return { port: Number(new URL(plane.url ?? '').port), client: client as TestClient, head };
}

test('an incomplete request stores nothing', async () => {
  const { port, client, head } = await plane();
  const { socket, over } = await open(port);
  const body = JSON.stringify({ metadata: { name: 'half' }, data: { k: 'v' } });
  // The JSON is complete, but shorter than the announced length of the body, so the server waits for the rest.
  socket.write(`POST ${PATH} HTTP/1.1\r\n${head}content-length: ${body.length + 10}\r\n\r\n${body}`);
  await new Promise((resolve) => socket.write('', resolve));
  socket.destroy();
  await over;
  expect((await client.send('GET', `${PATH}/half`)).status).toBe(404);
  expect((await client.send('POST', PATH, { metadata: { name: 'half' } })).status).toBe(201);
});

test.each([
  ['announced', `content-length: ${BODY_LIMIT + 1}\r\n`, ''],
  [
    'not announced',
    'transfer-encoding: chunked\r\n',
    `${(BODY_LIMIT + 1).toString(16)}\r\n${'x'.repeat(BODY_LIMIT + 1)}`,
  ],
])('a body over the limit is answered 413: %s', async (_how, header, body) => {
  const { port, head } = await plane();
  const { socket } = await open(port);
  const answer = new Promise<string>((resolve) => socket.once('data', (chunk: Buffer) => resolve(chunk.toString())));
  socket.write(`POST ${PATH} HTTP/1.1\r\n${head}${header}\r\n${body}`);
  const text = await answer;
  expect(text).toMatch(/^HTTP\/1.1 413 /);
  expect(text).toContain('"kind":"Status"');
  expect(text).toContain('"reason":"RequestEntityTooLarge"');
});

test('a watcher that does not read does not block others, and is disconnected', async () => {
  const { port, client, head } = await plane();
  const { socket, over } = await open(port);
  await client.send('POST', PATH, { metadata: { name: 'a' } });
  socket.write(`GET ${PATH}?watch=1 HTTP/1.1\r\n${head}connection: close\r\n\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  const big = 'x'.repeat(900_000);
  const changes = 50;
  for (let index = 0; index < changes; index++) {
    const body = { data: { k: `${index} ${big}` } };
    const { status } = await client.send('PATCH', `${PATH}/a`, body, {
      'content-type': 'application/merge-patch+json',
    });
    expect(status).toBe(200);
  }
  socket.resume();
  const events = (await over).split('{"type":"').length - 1;
  expect(events).toBeGreaterThan(0);
  expect(events).toBeLessThan(changes);
});
