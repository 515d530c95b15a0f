import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { KubeError } from '../contract/errors.ts';
import type { TransportRequest } from '../contract/transport.ts';
import { type Answer, scriptedTransport } from '../testing/scripted-server.ts';
import { createClient } from './create-client.ts';
import { evictPod } from './evict-pod.ts';

const POD = { namespace: 'shop', name: 'web', uid: 'u-1' };
const PATH = '/api/v1/namespaces/shop/pods/web';

const status = (code: number, reason: string, message: string, details?: object): Answer => ({
  status: code,
  json: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, ...(details ? { details } : {}) },
});
const page = (code: number, text: string): Answer => ({
  status: code,
  headers: { 'content-type': 'text/plain' },
  text,
});

const ACCEPTED: Answer = { status: 201, json: { kind: 'Status', status: 'Success' } };
const NO_POD = status(404, 'NotFound', 'pods "web" not found', { name: 'web', kind: 'pods' });
const NO_SUBRESOURCE = status(404, 'NotFound', 'the server could not find the requested resource', {});
const NO_PATH = page(404, '404 page not found\n');
const UNKNOWN_KIND = status(
  400,
  'BadRequest',
  'Eviction in version "v1" cannot be handled as a Eviction: no kind "Eviction" is registered for version "policy/v1"',
);
const DENIED = status(400, 'BadRequest', 'admission webhook "guard.example" denied the request: not now');

async function evicting(...answers: readonly Answer[]) {
  const transport = scriptedTransport((_, index) => answers[index]);
  const client = createClient({ transport, userAgent: 't', clock: new VirtualClock() });
  const outcome = await evictPod(client, POD, new AbortController().signal).catch((error: unknown) => error);
  const asked = transport.requests.map(
    ({ method, path, body }: TransportRequest) =>
      `${method} ${path}${body?.includes('policy/v1beta1') ? ' in policy/v1beta1' : ''}`,
  );
  return { outcome, asked, bodies: transport.requests.map(({ body }) => JSON.parse(body ?? '{}') as unknown) };
}

describe('the API server has the eviction API', () => {
  test('an accepted eviction sends one request to policy/v1', async () => {
    const { outcome, bodies } = await evicting(ACCEPTED);
    expect(outcome).toBe('asked');
    expect(bodies).toEqual([
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'web', namespace: 'shop' },
        deleteOptions: { preconditions: { uid: 'u-1' } },
      },
    ]);
  });

  test('a server that has only the older version gets that version', async () => {
    const { outcome, asked } = await evicting(UNKNOWN_KIND, ACCEPTED);
    expect(outcome).toBe('asked');
    expect(asked).toEqual([`POST ${PATH}/eviction`, `POST ${PATH}/eviction in policy/v1beta1`]);
  });

  test('a deleted pod is not deleted again', async () => {
    const { outcome, asked } = await evicting(NO_POD);
    expect([outcome, asked.length]).toEqual(['gone', 1]);
  });

  test.each([
    ['a webhook denies it', DENIED, 400],
    ['a webhook denies it with 404', status(404, 'NotFound', 'admission webhook "g" denied the request: no'), 404],
    [
      'a webhook denies it with 404 and a name',
      status(404, 'NotFound', 'admission webhook "g" denied the request: no', { name: 'web' }),
      404,
    ],
    ['a budget forbids it', status(429, 'TooManyRequests', 'Cannot evict pod'), 429],
    ['permission is missing', status(403, 'Forbidden', 'pods "web" is forbidden'), 403],
    ['the server fails', status(500, 'InternalError', 'oops'), 500],
  ])('no pod is deleted when %s', async (_, answer, code) => {
    const { outcome, asked } = await evicting(answer);
    expect(outcome).toBeInstanceOf(KubeError);
    expect([(outcome as KubeError).code, asked.length]).toEqual([code, 1]);
  });

  test('no pod is deleted when a proxy answers in front of a server with the eviction API', async () => {
    const { outcome, asked } = await evicting(NO_PATH, { json: { resources: [{ name: 'pods/eviction' }] } });
    expect((outcome as KubeError).code).toBe(404);
    expect(asked).toEqual([`POST ${PATH}/eviction`, 'GET /api/v1']);
  });
});

describe('the API server has no eviction API', () => {
  const gone: Answer = { json: { kind: 'Pod', metadata: { name: 'web' } } };

  test.each([
    ['404 that names no object', [NO_SUBRESOURCE]],
    ['404 without a Status', [NO_PATH, { json: { resources: [{ name: 'pods' }] } }]],
    ['400 for each version', [UNKNOWN_KIND, UNKNOWN_KIND]],
  ] as const)('the pod is deleted with its grace period: %s', async (_, answers) => {
    const { outcome, asked, bodies } = await evicting(...answers, gone);
    expect(outcome).toBe('deleted');
    expect(asked.at(-1)).toBe(`DELETE ${PATH}`);
    expect(bodies.at(-1)).toMatchObject({ preconditions: { uid: 'u-1' } });
    expect(bodies.at(-1)).not.toHaveProperty('gracePeriodSeconds');
  });

  test('a pod that is deleted in the meantime counts as gone', async () => {
    expect((await evicting(NO_SUBRESOURCE, NO_POD)).outcome).toBe('gone');
  });

  test('an answer that does not come from an API server does not count as gone', async () => {
    expect((await evicting(NO_SUBRESOURCE, NO_PATH)).outcome).toBeInstanceOf(KubeError);
  });
});
