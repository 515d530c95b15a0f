import { X509Certificate } from 'node:crypto';
import { createMemoryLogger, seededRandom, type TransportRequest, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Enrolment } from './enrolment.ts';
import type { ApiAddress } from './node/api-address.ts';

const boot = { server: 'https://api', token: 'abcdef.0123456789abcdef', behaviour: {} };
const { signal } = new AbortController();

function rig(answer: (request: TransportRequest) => Response, shared = false) {
  const requests: { readonly method: string; readonly path: string; readonly as: string | undefined }[] = [];
  const connected: ApiAddress[] = [];
  const transport = async (request: TransportRequest): Promise<Response> => {
    requests.push({
      method: request.method,
      path: request.path.split('?')[0] ?? '',
      as: request.headers.authorization,
    });
    return answer(request);
  };
  const enrolment = new Enrolment({
    clock: new VirtualClock(),
    random: seededRandom(1),
    log: createMemoryLogger(),
    connect: (address) => {
      connected.push(address);
      return transport;
    },
    ...(shared ? { nodeCluster: { server: 'https://api', transport, bare: transport } } : {}),
  });
  return { enrolment, requests, connected };
}

const json = (body: object, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });

test('with existing credentials, the bootstrap token is verified once and the shared connection is used', async () => {
  const { enrolment, requests } = rig(() => json({}), true);
  const { client } = await enrolment.enrol('n-1', boot, { enrolled: false, signal });
  await client.request('GET', '/api');
  await enrolment.enrol('n-1', boot, { enrolled: true, signal });
  expect(requests).toEqual([
    { method: 'GET', path: '/version', as: `Bearer ${boot.token}` },
    { method: 'GET', path: '/api', as: undefined },
  ]);
});

test('with existing credentials, a kubelet with a wrong token does not join', async () => {
  const { enrolment } = rig(() => json({ kind: 'Status', code: 401, reason: 'Unauthorized' }, 401), true);
  await expect(enrolment.enrol('n-1', boot, { enrolled: false, signal })).rejects.toMatchObject({ code: 401 });
});

test('without credentials, the kubelet requests a certificate for its node’s name and stores it', async () => {
  const metadata = { name: 'node-csr-1', uid: 'u', resourceVersion: '1' };
  const issued = { metadata, status: { certificate: Buffer.from('PEM').toString('base64') } };
  let csr: { spec: { request: string; signerName: string; usages: string[] } } | undefined;
  const { enrolment, requests, connected } = rig((request) => {
    if (request.method === 'POST') {
      csr = JSON.parse(request.body ?? '');
      return json({ metadata, spec: csr?.spec }, 201);
    }
    return request.path.includes('watch=')
      ? new Response(`${JSON.stringify({ type: 'MODIFIED', object: issued })}\n`)
      : json(issued);
  });
  const { certificate } = await enrolment.enrol('n-1', boot, { enrolled: false, signal });
  expect(certificate).toMatchObject({ certificate: 'PEM', key: expect.stringContaining('PRIVATE KEY') });
  expect(csr?.spec).toMatchObject({
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['digital signature', 'client auth'],
  });
  expect(new Set(requests.map(({ as }) => as))).toEqual(new Set([`Bearer ${boot.token}`]));
  expect(connected.at(-1)).toEqual({ server: 'https://api', clientCertificate: certificate });
  await enrolment.enrol('n-1', boot, { certificate, enrolled: true, signal });
  expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
});

test('a denied certificate is reported', async () => {
  const conditions = [{ type: 'Denied', message: 'not you' }];
  const { enrolment } = rig(() => json({ metadata: { name: 'node-csr-1' }, status: { conditions } }, 201));
  await expect(enrolment.enrol('n-1', boot, { enrolled: false, signal })).rejects.toThrow(
    /node-csr-1 was denied: not you/,
  );
});

test.each([
  [{ behaviour: {} }, /contains no API server/],
  [{ behaviour: {}, server: 'https://api' }, /bootstrapToken: is missing/],
])('user data %j is invalid', async (lacking, message) => {
  const { enrolment } = rig(() => json({}));
  await expect(enrolment.enrol('n-1', lacking, { enrolled: false, signal })).rejects.toThrow(message);
});

test('a certificate authority can read the signing request', async () => {
  const { makeSigningRequest } = await import('./certificate/signing-request.ts');
  const { request, key } = makeSigningRequest({ organization: 'system:nodes', commonName: 'system:node:n-1' });
  expect(key).toContain('BEGIN PRIVATE KEY');
  const der = Buffer.from(request.split('\n').slice(1, -2).join(''), 'base64');
  expect([der[0], der[1], der[2]]).toEqual([0x30, 0x81, der.length - 3]);
  expect(der.includes(Buffer.from('system:node:n-1'))).toBe(true);
  expect(() => new X509Certificate(request)).toThrow();
});
