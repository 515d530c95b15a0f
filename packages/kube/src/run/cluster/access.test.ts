import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../client/create-client.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { createMemoryLogger } from '../../log/memory-logger.ts';
import { handlerTransport } from '../../transports/handler.ts';
import { createAccess, isLoopback } from './access.ts';

let plane: ControlPlane;
let requests = 0;
const clock = new VirtualClock();
let client: KubeClient;

const scraper = (name: string) =>
  client.request<{ status: { token: string } }>('POST', `/api/v1/namespaces/default/serviceaccounts/${name}/token`, {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });

beforeAll(async () => {
  plane = await startControlPlane({ port: 0, controllers: false, clock });
  const transport = handlerTransport((request) => {
    requests += 1;
    return plane.fetch(request);
  });
  client = createClient({ transport, userAgent: 'test', clock });
  for (const name of ['allowed', 'stranger']) {
    await client.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
      body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    });
  }
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  await client.request('POST', `${rbac}/clusterroles`, {
    body: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'scraper' },
      rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    },
  });
  await client.request('POST', `${rbac}/clusterrolebindings`, {
    body: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'scraper' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scraper' },
      subjects: [{ kind: 'ServiceAccount', name: 'allowed', namespace: 'default' }],
    },
  });
});
afterAll(() => plane.close());

const log = createMemoryLogger();
const from = (remoteAddress: string, authorization?: string, path = '/metrics', verb = 'get') => ({
  remoteAddress,
  authorization,
  path,
  verb,
});
const FAR = '10.1.2.3';

describe('access to metrics', () => {
  const access = createAccess({ client: () => client, clock, log });

  test('a client on the same machine has access without a review', async () => {
    const before = requests;
    for (const near of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) expect(await access(from(near))).toBeUndefined();
    expect(requests).toBe(before);
  });

  test.each([
    [undefined, 401],
    ['Basic eDp5', 401],
    ['Bearer nonsense', 401],
  ])('not %s', async (authorization, status) => {
    expect(await access(from(FAR, authorization))).toMatchObject({ status });
  });

  test('a client with an allowed token has access, and the answer is cached for a while', async () => {
    const { token } = (await scraper('allowed')).status;
    const before = requests;
    expect(await access(from(FAR, `Bearer ${token}`))).toBeUndefined();
    expect(await access(from(FAR, `Bearer ${token}`))).toBeUndefined();
    expect(requests).toBe(before + 2);
    expect(await access(from(FAR, `Bearer ${token}`, '/configz'))).toMatchObject({ status: 403 });
    expect(await access(from(FAR, `Bearer ${token}`, '/metrics', 'put'))).toMatchObject({ status: 403 });
    await clock.advance(10_001);
    const later = requests;
    expect(await access(from(FAR, `Bearer ${token}`))).toBeUndefined();
    expect(requests).toBe(later + 2);
  });

  test('another client is refused, and the answer names the missing path and verb', async () => {
    const { token } = (await scraper('stranger')).status;
    const refusal = await access(from(FAR, `Bearer ${token}`));
    expect(refusal).toEqual({
      status: 403,
      body: 'system:serviceaccount:default:stranger has no permission to get /metrics: grant the permission with nonResourceURLs of a ClusterRole\n',
    });
    expect(JSON.stringify([refusal, log.lines])).not.toContain(token);
  });
});

test('while the cluster does not answer, all clients are refused, the error is logged, and the next request asks again', async () => {
  let tries = 0;
  const transport = () => {
    tries += 1;
    return Promise.reject(new Error('ECONNREFUSED'));
  };
  const cut = createAccess({ client: () => createClient({ transport, userAgent: 'test', clock }), clock, log });
  for (const expected of [1, 2]) {
    expect(await cut(from(FAR, 'Bearer t'))).toMatchObject({ status: 503 });
    expect(tries).toBe(expected);
  }
  expect(log.lines.at(-1)).toMatchObject({ level: 'warn', fields: { path: '/metrics' } });
  const early = createAccess({ client: () => undefined, clock, log });
  expect(await early(from(FAR, 'Bearer t'))).toMatchObject({ status: 503 });
});

test('invalid tokens do not fill the memory', async () => {
  let asked = 0;
  const transport = async () => {
    asked += 1;
    return new Response(JSON.stringify({ status: { authenticated: false } }), {
      status: 201,
      headers: { 'content-type': 'application/json' },
    });
  };
  const access = createAccess({ client: () => createClient({ transport, userAgent: 'test', clock }), clock, log });
  for (let n = 0; n < 300; n += 1) await access(from(FAR, `Bearer t${n}`));
  await access(from(FAR, 'Bearer t299'));
  expect(asked).toBe(300);
  await access(from(FAR, 'Bearer t0'));
  expect(asked).toBe(301);
});

test.each([
  ['10.0.0.1', false],
  ['::ffff:10.0.0.1', false],
  ['2001:db8::1', false],
  [undefined, false],
])('%s is another machine', (address, near) => {
  expect(isLoopback(address)).toBe(near);
});
