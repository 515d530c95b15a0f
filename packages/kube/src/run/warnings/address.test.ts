import { createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { createClient } from '../../client/create-client.ts';
import { realClock } from '../../clock/clock.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import { KubeError } from '../../contract/errors.ts';
import type { Transport } from '../../contract/transport.ts';
import { createMemoryLogger } from '../../log/memory-logger.ts';
import { createMetrics } from '../../metrics/create-metrics.ts';
import { undiciTransport } from '../../transports/undici.ts';
import { waitForApiServer } from '../cluster/api-server.ts';
import { warnOfAddress } from './address.ts';
import { Warnings } from './warnings.ts';

async function listening(server: Server | TcpServer): Promise<string> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => open.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answering = (status: number, text: string) =>
  listening(createHttpServer((_, answer) => void answer.writeHead(status, { connection: 'close' }).end(text)));

const status = (code: number, message: string): string => JSON.stringify({ kind: 'Status', code, message });

async function reported(server: string, transport: Transport, clock?: VirtualClock): Promise<readonly string[]> {
  const client = createClient({ transport, userAgent: 'test', clock: clock ?? realClock });
  const warnings = new Warnings(createMemoryLogger(), createMetrics().meters);
  const stop = new AbortController();
  const first = Promise.withResolvers<void>();
  const waiting = waitForApiServer(client, {
    clock: clock ?? realClock,
    random: seededRandom(1),
    signal: stop.signal,
    failed: (error) => {
      warnOfAddress({ name: 'control', server, source: '--target-kubeconfig=k' }, error, warnings);
      first.resolve();
    },
  });
  await clock?.advance(30_000);
  await first.promise;
  stop.abort(new Error('the test ends'));
  await expect(waiting).rejects.toThrow('the test ends');
  return warnings.list().map(({ kind, subject, sentence }) => `${kind} ${subject}: ${sentence}`);
}

async function reportedOf(server: string): Promise<readonly string[]> {
  const transport = undiciTransport({ server });
  onTestFinished(() => transport.close());
  return reported(server, transport);
}

const STRANGER = 'the server at the address is not a Kubernetes API server: correct the address';

test.each([
  ['a web page', () => answering(200, '<html></html>'), STRANGER],
  ['a page that is not found', () => answering(404, '<html></html>'), STRANGER],
  [
    'a proxy without its server',
    () => answering(502, 'Bad Gateway'),
    'the proxy at the address does not reach the API server',
  ],
  ['a server that wants TLS', () => answering(400, 'Client sent HTTP'), 'use https://'],
  ['JSON that is not a Status', () => answering(200, '{"version":1}'), STRANGER],
  ['an empty JSON answer', () => answering(200, 'null'), STRANGER],
  ['no HTTP', () => listening(createTcpServer((socket) => void socket.end('SSH-2.0-x\r\n'))), STRANGER],
  [
    'what hangs up',
    () => listening(createTcpServer((socket) => void socket.end())),
    'closes the connection without a response',
  ],
  ['a server without TLS', async () => (await answering(200, '')).replace('http', 'https'), 'does not use TLS'],
  ['a port without a server', async () => 'http://127.0.0.1:1', 'no server listens at the address'],
  ['an unknown host name', async () => 'https://nowhere.invalid', 'the host name of the address'],
])('a warning explains that another server answers instead of an API server: %s', async (_what, place, words) => {
  const server = await place();
  const [sentence, ...others] = await reportedOf(server);
  expect(others).toEqual([]);
  expect(sentence).toContain('api-server control: cannot reach the control API server: ');
  expect(sentence).toContain(words);
  expect(sentence).toContain(`; the address is ${server}, from --target-kubeconfig=k (GET /version: `);
});

test('a server that never answers is reported after ten seconds', async () => {
  const clock = new VirtualClock();
  const never: Transport = ({ signal }) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
  expect(await reported('http://mute', never, clock)).toEqual([
    expect.stringMatching(/no server responds at the address: check firewalls.*no response within 10000 ms/),
  ]);
});

test('an API server that refuses the request or is not ready is reported as such', async () => {
  expect(await reportedOf(await answering(403, status(403, 'Forbidden')))).toEqual([
    expect.stringMatching(/refuses the credentials of --target-kubeconfig=k: use other credentials .*Forbidden/),
  ]);
  expect(await reportedOf(await answering(503, status(503, 'starting')))).toEqual([
    expect.stringMatching(/is not ready; retrying .*starting/),
  ]);
});

test('an untrusted certificate and refused credentials have separate warnings', () => {
  const warnings = new Warnings(createMemoryLogger(), createMetrics().meters);
  const cause = Object.assign(new Error('self-signed'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  const error = new KubeError('GET /version: no answer', { code: 0, reason: 'NoAnswer', cause });
  const refused = new KubeError('GET /version: Unauthorized', { code: 401 });
  for (const each of [error, refused])
    warnOfAddress({ name: 'control', server: 'https://s', source: '--target-kubeconfig=k' }, each, warnings);
  expect(warnings.list()).toEqual([]);
});
