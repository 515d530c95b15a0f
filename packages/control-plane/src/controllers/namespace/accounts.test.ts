import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { startControlPlane } from '../../plane.ts';
import { settle, TestClock, TestPlane } from '../testing.ts';

const IN = '/api/v1/namespaces/fresh';
const namespace = (plane: TestPlane) =>
  plane.must('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fresh' } });

test('every namespace has the ServiceAccount default, also after its deletion; a terminating namespace gets none', async () => {
  await using plane = await TestPlane.start('serviceaccount');
  await namespace(plane);
  const path = `${IN}/serviceaccounts/default`;
  const { uid } = (await plane.must('GET', path)).metadata;
  await plane.must('DELETE', path);
  expect((await plane.must('GET', path)).metadata.uid).not.toBe(uid);
  await plane.must('DELETE', IN);
  await plane.must('DELETE', path);
  expect(await plane.exists(path)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('every namespace has the certificate of the authority, and a changed or deleted one is restored', async () => {
  const plane = await startControlPlane({
    port: 0,
    clock: new TestClock(),
    controllers: ['root-ca-certificate-publisher'],
  });
  const send = async (method: string, path: string, body?: unknown): Promise<ApiObject> => {
    const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const answer = (await (await plane.fetch(new Request(`http://plane${path}`, init))).json()) as ApiObject;
    await settle();
    return answer;
  };
  try {
    await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fresh' } });
    const path = `${IN}/configmaps/kube-root-ca.crt`;
    const { data, metadata } = await send('GET', path);
    expect(data).toEqual({ 'ca.crt': expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/) });
    expect(Object.keys(metadata.annotations ?? {})).toEqual(['kubernetes.io/description']);
    await send('PATCH', path, { data: { 'ca.crt': 'x' } });
    expect((await send('GET', path)).data).toEqual(data);
    await send('DELETE', path);
    expect((await send('GET', path)).data).toEqual(data);
  } finally {
    await plane.close();
  }
});
