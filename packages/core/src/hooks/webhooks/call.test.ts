import { createHmac } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Annotations } from '@mcm/api';
import {
  issueAuthority,
  issueServing,
  realClock,
  type Transport,
  type TransportRequest,
  type TransportResponse,
  VirtualClock,
} from '@mcm/kube';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { at, machine, NOON } from '../../machine/testing.ts';
import type { PendingHook } from '../pending.ts';
import { callHookWebhook, type HookAnswer } from './call.ts';
import type { HookWebhook } from './config.ts';
import { connectWebhook } from './connect.ts';

const KEYS = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
const WEBHOOK: HookWebhook = {
  name: 'backup',
  url: new URL('https://backup.example.org/hooks'),
  ca: undefined,
  keys: { read: async () => ({ keys: KEYS }) },
  timeoutMs: 10_000,
};
const PENDING: PendingHook = {
  hook: { stage: 'before-drain', name: 'save', owner: 'backup', timeoutMs: 600_000, afterTimeout: 'Block' },
  since: NOON,
  until: new Date(NOON.getTime() + 600_000),
};
const MACHINE = machine({
  metadata: { labels: { node: 'node-0', team: 'confidential-label' }, annotations: { [Annotations.Hooks]: 'secret' } },
});

async function* chunks(count: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < count; sent++) yield new Uint8Array(16_384);
}

const answer = (status: number, text: string, body: TransportResponse['body'] = null): TransportResponse => ({
  status,
  headers: { get: () => null },
  text: async () => text,
  body,
});

const call = (transport: Transport, clock = new VirtualClock({ start: NOON })): Promise<HookAnswer> =>
  callHookWebhook(WEBHOOK, MACHINE, PENDING, { transport, clock, signal: new AbortController().signal, keys: KEYS });

test.each<[what: string, response: TransportResponse, expected: unknown]>([
  ['done', answer(200, '{"done":true}'), { is: 'finished' }],
  ['not done', answer(202, '{"done":false}'), { is: 'waits', retryAfterMs: undefined }],
  ['not done, with a time', answer(200, '{"done":false,"retryAfterSeconds":7}'), { is: 'waits', retryAfterMs: 7_000 }],
  [
    'an error with done',
    answer(500, '{"done":true}'),
    { is: 'failed', because: expect.stringContaining('status 500') },
  ],
  [
    'a redirect with done',
    answer(307, '{"done":true}'),
    { is: 'failed', because: expect.stringContaining('redirects') },
  ],
  ['no JSON', answer(200, 'ok'), { is: 'failed', because: expect.stringContaining('is not JSON') }],
  [
    'a text for done',
    answer(200, '{"done":"true"}'),
    { is: 'failed', because: expect.stringContaining('valid "done"') },
  ],
  ['a huge answer', answer(200, '', chunks(5)), { is: 'failed', because: expect.stringContaining('65536 bytes') }],
])('the answer decides about the hook: %s', async (_what, response, expected) => {
  expect(await call(async () => response)).toEqual(expected);
});

test('a call has a signature of each key for its ID, its time and its body', async () => {
  const sent: TransportRequest[] = [];
  await call(async (request) => {
    sent.push(request);
    return answer(200, '{"done":true}');
  });
  const { method, path, headers, body } = sent[0] ?? expect.unreachable('nothing was sent');
  const id = headers['webhook-id'] ?? '';
  const text = `${id}.${headers['webhook-timestamp']}.${body}`;
  expect([method, path, headers['webhook-timestamp']]).toEqual(['POST', '/hooks', String(NOON.getTime() / 1_000)]);
  const signatures = KEYS.map((key) => `v1,${createHmac('sha256', key).update(text).digest('base64')}`);
  expect(headers['webhook-signature']?.split(' ')).toEqual(signatures);
  expect(id).toBe(`${MACHINE.metadata.uid}/before-drain/save/${NOON.getTime() / 1_000}`);
});

test('the body names the machine and the hook, without labels and annotations', async () => {
  let body = '';
  await call(async (request) => {
    body = request.body ?? '';
    return answer(200, '{"done":true}');
  });
  expect(JSON.parse(body)).toMatchObject({
    stage: 'before-drain',
    hook: 'save',
    since: at(0),
    deadline: at(10),
    machine: { name: MACHINE.metadata.name, node: 'node-0' },
  });
  expect(body).not.toMatch(/confidential|secret/);
});

test('a call without an answer ends after the timeout', async () => {
  const clock = new VirtualClock({ start: NOON });
  const running = call(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
    clock,
  );
  await clock.advance(10_000);
  expect(await running).toEqual({ is: 'failed', because: 'the webhook did not respond in time' });
});

const DAY = { from: new Date(Date.now() - 86_400_000), until: new Date(Date.now() + 86_400_000) };
let authority: Awaited<ReturnType<typeof issueAuthority>>;
beforeAll(async () => {
  authority = await issueAuthority(DAY);
});

async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(await issueServing(authority, ['localhost'], DAY), listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return new URL(`https://localhost:${(server.address() as AddressInfo).port}/hooks`);
}

async function callOver(url: URL, ca: string | undefined): Promise<HookAnswer> {
  const transport = connectWebhook({ url, ca });
  onTestFinished(() => transport.close());
  const options = { transport, clock: realClock, signal: new AbortController().signal, keys: KEYS };
  return callHookWebhook({ ...WEBHOOK, url, ca }, MACHINE, PENDING, options);
}

test('a server without a trusted certificate gets no call', async () => {
  let calls = 0;
  const url = await serve((_request, response) => {
    calls += 1;
    response.end('{"done":true}');
  });
  expect(await callOver(url, undefined)).toMatchObject({ is: 'failed', because: expect.stringMatching(/certificate/) });
  expect(calls).toBe(0);
  expect(await callOver(url, authority.cert)).toEqual({ is: 'finished' });
});

test('a redirect gets no second call', async () => {
  const paths: (string | undefined)[] = [];
  const url = await serve(({ url: path }, response) => {
    paths.push(path);
    if (path === '/hooks') response.writeHead(302, { location: '/done' }).end();
    else response.end('{"done":true}');
  });
  expect(await callOver(url, authority.cert)).toMatchObject({ is: 'failed' });
  expect(paths).toEqual(['/hooks']);
});
