import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const SECRETS = '/api/v1/namespaces/kube-system/secrets';
const INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
const KUBECONFIG = 'apiVersion: v1\nkind: Config\n';

const start = async (): Promise<TestPlane> => {
  const plane = await TestPlane.start('bootstrap-signer', 'token-cleaner');
  const info = { metadata: { name: 'cluster-info' }, data: { kubeconfig: KUBECONFIG } };
  await plane.must('POST', '/api/v1/namespaces/kube-public/configmaps', info);
  return plane;
};

const giveToken = (plane: TestPlane, more: Record<string, string> = {}, name = 'bootstrap-token-abc123') =>
  plane.must('POST', SECRETS, {
    type: 'bootstrap.kubernetes.io/token',
    metadata: { name },
    stringData: {
      'token-id': 'abc123',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-signing': 'true',
      ...more,
    },
  });

const signatures = async (plane: TestPlane): Promise<Record<string, string>> => {
  const data = (await plane.must('GET', INFO))['data'] as Record<string, string>;
  return Object.fromEntries(Object.entries(data).filter(([key]) => key !== 'kubeconfig'));
};

test('cluster-info is signed with every token that may sign, and the signature is removed with the token', async () => {
  await using plane = await start();
  await giveToken(plane);
  const [header = '', , signature] = ((await signatures(plane))['jws-kubeconfig-abc123'] ?? '').split('.');
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'HS256', kid: 'abc123' });
  const content = Buffer.from(KUBECONFIG).toString('base64url');
  expect(signature).toBe(createHmac('sha256', '0123456789abcdef').update(`${header}.${content}`).digest('base64url'));
  await plane.must('DELETE', `${SECRETS}/bootstrap-token-abc123`);
  expect(await signatures(plane)).toEqual({});
});

test('a changed kubeconfig is signed again, and a foreign signature is removed', async () => {
  await using plane = await start();
  await giveToken(plane);
  const before = await signatures(plane);
  await plane.patch(INFO, { data: { kubeconfig: 'other', 'jws-kubeconfig-zzzzzz': 'x' } });
  const after = await signatures(plane);
  expect(Object.keys(after)).toEqual(['jws-kubeconfig-abc123']);
  expect(after).not.toEqual(before);
});

test.each([
  ['is not meant for it', { 'usage-bootstrap-signing': 'yes' }, undefined],
  ['has another id than its name', { 'token-id': 'abc124' }, undefined],
  ['has no name of a token', {}, 'my-token'],
  ['has no secret', { 'token-secret': '' }, undefined],
])('a token that %s signs nothing', async (_what, more, name) => {
  await using plane = await start();
  await giveToken(plane, more, name);
  expect(await signatures(plane)).toEqual({});
});

test('a token is deleted at the second of its expiry', async () => {
  await using plane = await start();
  await giveToken(plane, { expiration: '2024-01-01T01:00:00Z' });
  await plane.clock.advance(3_599_999);
  expect(await plane.exists(`${SECRETS}/bootstrap-token-abc123`)).toBe(true);
  await plane.clock.advance(1);
  expect(await plane.exists(`${SECRETS}/bootstrap-token-abc123`)).toBe(false);
});

test('a token without an expiry remains, and one with an invalid expiry has expired', async () => {
  await using plane = await start();
  await giveToken(plane);
  await giveToken(plane, { expiration: 'tomorrow', 'token-id': 'abc124' }, 'bootstrap-token-abc124');
  await plane.clock.advance(3_600_000);
  expect(await plane.list(SECRETS)).toMatchObject([{ metadata: { name: 'bootstrap-token-abc123' } }]);
});
