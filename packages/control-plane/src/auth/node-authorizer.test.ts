import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../plane.ts';
import { caller } from './testing.ts';

const PODS = '/api/v1/namespaces/default/pods';
const NODE = { 'impersonate-user': 'system:node:n-1', 'impersonate-group': 'system:nodes' };
const OWN_NODE = 'only its own Node object';
const FIELD = 'can only list/watch pods with spec.nodeName field selector';
const UNRELATED = "no relationship found between node 'n-1' and this object";

let plane: ControlPlane;
let call: ReturnType<typeof caller>;
const pod = (name: string, nodeName: string) => ({
  metadata: { name },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
});

beforeEach(async () => {
  plane = await startControlPlane({ controllers: false });
  call = caller(plane);
  for (const name of ['n-1', 'n-2']) await call('POST', '/api/v1/nodes', { body: { metadata: { name } } });
  await call('POST', PODS, { body: pod('mine', 'n-1') });
  await call('POST', PODS, { body: pod('other', 'n-2') });
});
afterEach(() => plane.close());

test.each<[path: string, why: string | undefined]>([
  ['/api/v1/nodes', `node 'n-1' cannot read all nodes, ${OWN_NODE}`],
  ['/api/v1/nodes?watch=1', `node 'n-1' cannot read all nodes, ${OWN_NODE}`],
  ['/api/v1/nodes?fieldSelector=metadata.name%3Dn-2', `node 'n-1' cannot read 'n-2', ${OWN_NODE}`],
  ['/api/v1/nodes?fieldSelector=metadata.name%3Dn-1', undefined],
  ['/api/v1/nodes/n-2', `node 'n-1' cannot read 'n-2', ${OWN_NODE}`],
  ['/api/v1/nodes/n-1', undefined],
  ['/api/v1/pods', FIELD],
  [`${PODS}?watch=1`, FIELD],
  [`${PODS}?labelSelector=a`, FIELD],
  [`${PODS}?fieldSelector=spec.nodeName%3Dn-2`, FIELD],
  [`${PODS}?fieldSelector=spec.nodeName!%3Dn-1`, FIELD],
  ['/api/v1/pods?fieldSelector=spec.nodeName%3Dn-1', undefined],
  [`${PODS}?fieldSelector=spec.nodeName%3D%3Dn-1,status.phase%3DPending`, undefined],
  [`${PODS}/mine`, undefined],
  [`${PODS}/other`, UNRELATED],
  [`${PODS}/gone`, UNRELATED],
  [`${PODS}?fieldSelector=metadata.name%3Dother`, UNRELATED],
  ['/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dx', UNRELATED],
  ['/api/v1/secrets', 'can only read namespaced object of this type'],
  [
    '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
    'can only get, create, update, patch, or delete a node lease',
  ],
  ['/apis/storage.k8s.io/v1/volumeattachments', 'can only get individual resources of this type'],
])('a node reads %s: %s', async (path, why) => {
  const { status, body } = await call('GET', path, { headers: NODE });
  if (why === undefined) expect(status).toBe(200);
  else {
    expect(status).toBe(403);
    expect(String(body.message).endsWith(`: ${why}`)).toBe(true);
  }
});

test('admission refuses a node that writes another one', async () => {
  for (const path of ['/api/v1/nodes/n-2', '/api/v1/nodes/n-2/status']) {
    const { status, body } = await call('PATCH', path, { headers: NODE, body: { metadata: { labels: { a: 'b' } } } });
    expect([status, body.message]).toEqual([
      403,
      'nodes "n-2" is forbidden: node "n-1" is not allowed to modify node "n-2"',
    ]);
  }
});

test.each<[selector: object | undefined, allowed: boolean]>([
  [undefined, false],
  [{ rawSelector: 'spec.nodeName=n-1' }, true],
  [{ requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n-1'] }] }, true],
  [{ requirements: [{ key: 'spec.nodeName', operator: 'NotIn', values: ['n-1'] }] }, false],
  [{ requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n-1', 'n-2'] }] }, false],
])('a review evaluates a list of a node with the selector %j', async (fieldSelector, allowed) => {
  const { body } = await call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    body: {
      spec: {
        user: 'system:node:n-1',
        groups: ['system:nodes'],
        resourceAttributes: { verb: 'list', resource: 'pods', ...(fieldSelector && { fieldSelector }) },
      },
    },
  });
  expect(body.status?.allowed).toBe(allowed);
});

test.each([
  [{ serviceAccountName: 'default' }, 'a mirror pod may not reference service accounts'],
  [{ volumes: [{ name: 'v', secret: { secretName: 's' } }] }, 'a mirror pod may not reference secrets'],
  [
    { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
    'a mirror pod may not use ServiceAccountToken volume projections',
  ],
])('a mirror pod with %j is refused for any user', async (more, why) => {
  const { metadata, spec } = pod('mirror', 'n-1');
  const annotations = { 'kubernetes.io/config.mirror': 'x' };
  for (const headers of [{}, NODE]) {
    const { status, body } = await call('POST', PODS, {
      headers,
      body: { metadata: { ...metadata, annotations }, spec: { ...spec, ...more } },
    });
    expect([status, body.message]).toEqual([403, `pods "mirror" is forbidden: ${why}`]);
  }
});
