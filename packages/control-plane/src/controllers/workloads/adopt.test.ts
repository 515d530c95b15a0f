import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { Api } from '../client/api.ts';
import { PODS, REPLICA_SETS } from '../client/resources.ts';
import { projectionOf } from '../objects/projections.ts';
import { Informer } from '../runtime/informer.ts';
import { settle, TestClock, TestPlane } from '../testing.ts';
import { Adoption } from './adopt.ts';

const owner: ApiObject = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { selector: { matchLabels: { app: 'web' } } },
};
const orphan = {
  metadata: { name: 'p', namespace: 'default', uid: 'p1', labels: { app: 'web' }, resourceVersion: '1' },
};

test.each([
  ['is on its way out', { ...owner.metadata, deletionTimestamp: 'T' }, 'default/web has just been deleted at T'],
  [
    'is another one of its name',
    { ...owner.metadata, uid: 'u2' },
    'original ReplicaSet default/web is gone: got uid u2, wanted u1',
  ],
])('an owner that %s adopts nothing, even if the cache does not show this yet', async (_name, metadata, message) => {
  const patched: string[] = [];
  const json = { 'content-type': 'application/json' };
  const api = new Api({
    async handle({ method, path, query }) {
      if (method === 'PATCH') patched.push(path);
      if (query.has('watch')) return { status: 500, headers: json, body: '{}' };
      const list = { apiVersion: 'v1', kind: 'PodList', metadata: { resourceVersion: '1' }, items: [orphan] };
      const body = path.endsWith('/pods') ? list : { ...owner, metadata };
      return { status: 200, headers: json, body: JSON.stringify(body) };
    },
  });
  const ended = new AbortController();
  const pods = new Informer(api, new TestClock(), PODS, projectionOf(PODS), ended.signal);
  const adoption = new Adoption(api, { owners: REPLICA_SETS, resource: PODS, objects: pods });
  await pods.synced;
  ended.abort();
  await expect(adoption.claim(owner)).rejects.toThrow(message);
  await settle();
  expect(patched).toEqual([]);
});

test('adopted and released objects keep their other owners', async () => {
  await using plane = await TestPlane.start('replicaset');
  const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'x' };
  const metadata = { name: 'p', labels: { app: 'web' }, ownerReferences: [other] };
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  const path = '/api/v1/namespaces/default/pods';
  await plane.must('POST', path, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  await plane.must('POST', '/apis/apps/v1/namespaces/default/replicasets', {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'web' },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: { metadata, spec } },
  });
  // The ReplicaSet has adopted a pod that was not in the cache, so it has not created a second pod.
  expect((await plane.list(path)).map((pod) => pod.metadata.name)).toEqual(['p']);
  const owners = async () =>
    (await plane.must('GET', `${path}/p`)).metadata.ownerReferences?.map(({ kind }) => kind).sort();
  expect(await owners()).toEqual(['ConfigMap', 'ReplicaSet']);
  await plane.patch(`${path}/p`, { metadata: { labels: { app: 'alone' } } });
  expect(await owners()).toEqual(['ConfigMap']);
  expect(plane.errors).toEqual([]);
});

test('a set that cannot adopt a pod retries, and reports no failure', async () => {
  await using plane = await TestPlane.start('replicaset');
  const policies = '/apis/admissionregistration.k8s.io/v1';
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['pods'] };
  await plane.must('POST', `${policies}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'keep' },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false', message: 'kept' }] },
  });
  await plane.must('POST', `${policies}/validatingadmissionpolicybindings`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'keep' },
    spec: { policyName: 'keep', validationActions: ['Deny'] },
  });
  // An admission policy takes effect only after a delay.
  await plane.clock.advance(10_000);
  const metadata = { name: 'p', labels: { app: 'web' } };
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  await plane.must('POST', '/api/v1/namespaces/default/pods', { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  const sets = '/apis/apps/v1/namespaces/default/replicasets';
  const template = { metadata: { labels: { app: 'web' } }, spec };
  await plane.must('POST', sets, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'web' },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
  });
  expect((await plane.must('GET', `${sets}/web`)).status).not.toHaveProperty('conditions');
  expect(plane.errors[0]).toContain('kept');
  await plane.must('DELETE', `${policies}/validatingadmissionpolicybindings/keep`);
  await plane.clock.advance(60_000);
  expect((await plane.must('GET', `${sets}/web`)).status).toMatchObject({ replicas: 1 });
  expect((await plane.list('/api/v1/namespaces/default/pods')).map((pod) => pod.metadata.name)).toEqual(['p']);
});
