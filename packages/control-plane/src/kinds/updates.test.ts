import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../plane.ts';

/** The tests change an object, and compare the errors or the result with kube-apiserver 1.36. */

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
  await send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
afterAll(() => plane.close());

type Json = Record<string, unknown>;

async function send(method: string, path: string, body: Json): Promise<{ code: number; body: Json }> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { 'content-type': type };
  const answer = await plane.fetch(
    new Request(`https://plane${path}`, { method, headers, body: JSON.stringify(body) }),
  );
  return { code: answer.status, body: (await answer.json()) as Json };
}

const causesOf = (body: Json): string[] => {
  const { causes = [] } = (body.details ?? {}) as { causes?: { field: string; reason: string }[] };
  return causes.map(({ field, reason }) => `${reason.replace('FieldValue', '')} ${field}`);
};

let count = 0;
async function create(path: string, body: Json): Promise<string> {
  const name = `n${++count}`;
  const made = await send('POST', path, { ...body, metadata: { name } });
  expect(made.code, JSON.stringify(made.body)).toBe(201);
  return `${path}/${name}`;
}

const PODS = '/api/v1/namespaces/default/pods';
const term = (...keys: string[]) => ({ matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })) });
const placed = (...terms: Json[]) => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
});
const POD = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }], activeDeadlineSeconds: 50 };
const GATED = {
  ...POD,
  schedulingGates: [{ name: 'a.b/c' }],
  nodeSelector: { disk: 'ssd' },
  affinity: placed(term('k')),
};
const TERMS = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

test.each([
  ['another image', POD, { containers: [{ name: 'c', image: 'j' }] }, []],
  [
    'no image',
    POD,
    { containers: [{ name: 'c', imagePullPolicy: 'Always' }] },
    ['Required spec.containers[0].image', 'Required spec.containers[0].image'],
  ],
  ['a wrong value is told with the change', POD, { dnsPolicy: 'x' }, ['NotSupported spec.dnsPolicy', 'Forbidden spec']],
  [
    'a longer deadline',
    POD,
    { activeDeadlineSeconds: 51, dnsPolicy: 'Default' },
    ['Invalid spec.activeDeadlineSeconds'],
  ],
  ['no deadline', POD, { activeDeadlineSeconds: null }, ['Invalid spec.activeDeadlineSeconds']],
  ['a gate gone', GATED, { schedulingGates: null }, []],
  ['a new gate', GATED, { schedulingGates: [{ name: 'a.b/d' }] }, ['Forbidden spec.schedulingGates[0].name']],
  ['a narrower selector', GATED, { nodeSelector: { zone: 'z' } }, []],
  ['a wider selector', GATED, { nodeSelector: null }, ['Invalid spec.nodeSelector']],
  ['a narrower term', GATED, { affinity: placed(term('k', 'l')) }, []],
  ['another term', GATED, { affinity: placed(term('l')) }, [`Invalid ${TERMS}[0]`]],
  ['one more term', GATED, { affinity: placed(term('k'), term('l')) }, [`Invalid ${TERMS}`]],
  ['no affinity', GATED, { affinity: null }, [`Invalid ${TERMS}`]],
  ['a selector without gates', POD, { nodeSelector: { disk: 'ssd' } }, ['Forbidden spec']],
])('a pod with %s', async (_name, base, change, causes) => {
  const path = await create(PODS, { spec: base });
  const answer = await send('PATCH', path, { spec: change });
  expect(
    causesOf(answer.body).filter((cause, at, all) => cause !== 'Forbidden spec' || all.indexOf(cause) === at),
  ).toEqual(causes);
  expect(answer.code).toBe(causes.length === 0 ? 200 : 422);
});

const SERVICES = '/api/v1/namespaces/default/services';
const PORT = { name: 'a', port: 80 };

test('a service keeps its node ports by name, and loses the fields of its old type', async () => {
  const path = await create(SERVICES, {
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', loadBalancerClass: 'a/b', ports: [PORT] },
  });
  const name = path.split('/').at(-1);
  const before = (await send('PATCH', path, {})).body.spec as Json & { ports: { nodePort: number }[] };
  const moved = await send('PUT', path, {
    metadata: { name },
    spec: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      loadBalancerClass: 'a/b',
      ports: [{ ...PORT, port: 81 }],
    },
  });
  expect(moved.code, JSON.stringify(moved.body)).toBe(200);
  const spec = moved.body.spec as typeof before;
  expect(spec.ports[0]?.nodePort).toBe(before.ports[0]?.nodePort);
  expect(spec.healthCheckNodePort).toBe(before.healthCheckNodePort);
  expect(spec.clusterIP).toBe(before.clusterIP);

  const inner = await send('PATCH', path, { spec: { type: 'ClusterIP' } });
  expect(inner.code, JSON.stringify(inner.body)).toBe(200);
  const now = inner.body.spec as typeof before;
  expect(now.ports).toEqual([{ name: 'a', port: 81, protocol: 'TCP', targetPort: 81 }]);
  for (const field of [
    'healthCheckNodePort',
    'loadBalancerClass',
    'allocateLoadBalancerNodePorts',
    'externalTrafficPolicy',
  ]) {
    expect(now).not.toHaveProperty(field);
  }

  const outer = await send('PATCH', path, { spec: { type: 'ExternalName', externalName: 'a.b' } });
  expect(outer.code, JSON.stringify(outer.body)).toBe(200);
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies']) expect(outer.body.spec).not.toHaveProperty(field);
});

test.each([
  ['another class', { loadBalancerClass: 'a/c' }, ['Invalid spec.loadBalancerClass']],
  ['no class', { loadBalancerClass: null }, ['Invalid spec.loadBalancerClass']],
  [
    'another type and a new class',
    { type: 'ClusterIP', loadBalancerClass: 'a/c' },
    ['Forbidden spec.loadBalancerClass', 'Forbidden spec.loadBalancerClass'],
  ],
  ['an address that is none', { clusterIP: 'x', sessionAffinity: 'y' }, ['Invalid spec.clusterIPs[0]']],
])('a balancer with %s', async (_name, change, causes) => {
  const path = await create(SERVICES, {
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', loadBalancerClass: 'a/b', ports: [PORT] },
  });
  const answer = await send('PATCH', path, { spec: change });
  expect(causesOf(answer.body)).toEqual(causes);
});

test('the health check port of a load balancer is immutable', async () => {
  const path = await create(SERVICES, {
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', loadBalancerClass: 'a/b', ports: [PORT] },
  });
  const { healthCheckNodePort } = (await send('PATCH', path, {})).body.spec as { healthCheckNodePort: number };
  const other = healthCheckNodePort === 31_000 ? 31_001 : 31_000;
  const answer = await send('PATCH', path, { spec: { healthCheckNodePort: other } });
  expect(causesOf(answer.body)).toEqual(['Forbidden spec.healthCheckNodePort']);
});

const VOLUMES = '/api/v1/persistentvolumes';

test.each([
  ['no affinity', { nodeAffinity: null }, ['Invalid nodeAffinity']],
  ['another source', { hostPath: { path: '/y' } }, ['Forbidden spec.persistentvolumesource']],
  ['no access mode', { accessModes: [] }, ['Required spec.accessModes', 'Required spec.accessModes']],
])('a volume with %s', async (_name, change, causes) => {
  const path = await create(VOLUMES, {
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/x' },
      nodeAffinity: { required: { nodeSelectorTerms: [term('k')] } },
    },
  });
  const answer = await send('PATCH', path, { spec: change });
  expect(causesOf(answer.body)).toEqual(causes);
});

test('a CSI volume: an update may add the secret for expansions once', async () => {
  const csi = { driver: 'd.example.dev', volumeHandle: 'h' };
  const path = await create(VOLUMES, {
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi },
  });
  const change = (name: string, more = {}): ReturnType<typeof send> =>
    send('PATCH', path, { spec: { csi: { ...more, controllerExpandSecretRef: { name, namespace: 'n' } } } });
  expect(causesOf((await change('a', { fsType: 'ext4' })).body)).toEqual(['Forbidden spec.persistentvolumesource']);
  expect((await change('a')).code).toBe(200);
  expect(causesOf((await change('b')).body)).toEqual(['Forbidden spec.persistentvolumesource']);
});

test.each([
  [{ reason: 'S' }, ['Invalid reason', 'Invalid reason']],
  [{ note: 'n' }, ['Invalid message']],
  [{ eventTime: null }, ['Invalid eventTime']],
  [{ regarding: { kind: 'Node' } }, ['Invalid involvedObject']],
  [{ series: { count: 1, lastObservedTime: '2024-01-01T00:00:00.000000Z' } }, ['Invalid series.count']],
  [{ series: { count: 2, lastObservedTime: '2024-01-01T00:00:00.000000Z' } }, []],
])('a new event with %j is accepted, or refused with its causes', async (change, causes) => {
  const path = await create('/apis/events.k8s.io/v1/namespaces/default/events', {
    regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
    reason: 'R',
    type: 'Normal',
    action: 'A',
    eventTime: '2024-01-01T00:00:00.000000Z',
    reportingController: 'a.b/c',
    reportingInstance: 'i',
  });
  const answer = await send('PATCH', path, change);
  expect(causesOf(answer.body)).toEqual(causes);
});

test.each([
  [{ taints: [{ key: 'k' }] }, ['Required metadata.taints[0].effect', 'Required metadata.taints[0].effect']],
  [{ providerID: 'c' }, ['Forbidden spec.providerID']],
  [{ podCIDR: 'x', podCIDRs: ['x'] }, ['Invalid spec.podCIDRs[0]', 'Forbidden spec.podCIDRs']],
])('a node with %j', async (change, causes) => {
  const path = await create('/api/v1/nodes', {
    spec: { providerID: 'a://b', podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] },
  });
  const answer = await send('PATCH', path, { spec: change });
  expect(causesOf(answer.body)).toEqual(causes);
});

test('the claims of a stateful set are immutable, and not validated again', async () => {
  const sets = '/apis/apps/v1/namespaces/default/statefulsets';
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const path = await create(sets, {
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: claim }],
    },
  });
  const templates = [{ metadata: { name: 'd' }, spec: { ...claim, accessModes: ['x'] } }];
  const answer = await send('PATCH', path, { spec: { volumeClaimTemplates: templates } });
  expect(causesOf(answer.body)).toEqual(['Forbidden spec']);
});

test('the value of a priority class is immutable', async () => {
  const path = await create('/apis/scheduling.k8s.io/v1/priorityclasses', { value: 1 });
  const answer = await send('PATCH', path, { value: 2, preemptionPolicy: 'x' });
  expect(causesOf(answer.body)).toEqual(['Forbidden value', 'Invalid preemptionPolicy']);
});
