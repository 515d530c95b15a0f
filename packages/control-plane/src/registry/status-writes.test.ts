import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../testing.ts';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const METADATA = { labels: { x: 'y' }, annotations: { q: 'r' } };

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeEach(async () => {
  setup = await startTestPlane({ controllers: false });
});
afterEach(() => setup.plane.close());

const send = async (method: string, path: string, body: object) => {
  const answer = await setup.client.send(method, path, body, method === 'PATCH' ? MERGE : {});
  expect(answer.status, answer.body.message).toBeLessThan(300);
  return answer.body;
};

const owned = (entries: readonly { manager?: string; subresource?: string; fieldsV1?: object }[] = []) =>
  entries.map(({ manager, subresource = '', fieldsV1 = {} }) => [manager, subresource, Object.keys(fieldsV1)]);

test('a write of the status of a CRD includes metadata; the server manages its own changes', async () => {
  const schema = { openAPIV3Schema: { type: 'object' } };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  const spec = { group: 'g.dev', scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions };
  await send('POST', `${CRDS}?fieldManager=me`, { metadata: { name: 'things.g.dev' }, spec });
  const conditions = [{ type: 'Mine', status: 'True', reason: 'R', message: '' }];
  const path = `${CRDS}/things.g.dev/status?fieldManager=me`;
  const { metadata, status } = await send('PATCH', path, { metadata: METADATA, status: { conditions } });
  expect(metadata).toMatchObject(METADATA);
  expect(owned(metadata.managedFields)).toEqual([
    ['kube-apiserver', 'status', ['f:status']],
    ['me', '', ['f:spec']],
    ['me', 'status', ['f:metadata', 'f:status']],
  ]);
  expect((status as { conditions: object[] }).conditions[0]).not.toHaveProperty('message');
});

test('the status of an APIService is written without its metadata', async () => {
  const spec = { group: 'g.dev', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 10 };
  await send('POST', SERVICES, { metadata: { name: 'v1.g.dev' }, spec });
  const conditions = [{ type: 'Mine', status: 'True' }];
  const { metadata } = await send('PATCH', `${SERVICES}/v1.g.dev/status`, {
    metadata: METADATA,
    status: { conditions },
  });
  expect(metadata).not.toHaveProperty('labels');
  expect(metadata).not.toHaveProperty('annotations');
  expect(owned(metadata.managedFields).at(-1)).toEqual([expect.anything(), 'status', ['f:status']]);
});

test('a client that finalizes a namespace manages no status fields', async () => {
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'n' } });
  const body = { metadata: { name: 'n' }, spec: { finalizers: ['a.b/c'] }, status: { phase: 'Terminating' } };
  const { metadata, status } = await send('PUT', '/api/v1/namespaces/n/finalize?fieldManager=f', body);
  expect(status).toEqual({ phase: 'Active' });
  expect(owned(metadata.managedFields)).toContainEqual(['f', 'finalize', ['f:spec']]);
});
