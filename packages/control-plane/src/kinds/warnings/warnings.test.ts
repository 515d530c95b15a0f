import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../plane.ts';

/** The tests create valid objects, and compare the `Warning` headers with kube-apiserver 1.36. */

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
  await send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
afterAll(() => plane.close());

async function send(method: string, path: string, body: object): Promise<{ code: number; warnings: string[] }> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { 'content-type': type };
  const answer = await plane.fetch(
    new Request(`https://plane${path}`, { method, headers, body: JSON.stringify(body) }),
  );
  const found = (answer.headers.get('warning') ?? '').matchAll(/299 - ("(?:[^"\\]|\\.)*")/g);
  return { code: answer.status, warnings: [...found].map(([, quoted = '""']) => JSON.parse(quoted) as string) };
}

const BASE = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] };
const container = (more: object) => ({ containers: [{ name: 'c', image: 'i', ...more }] });
const NULL_SELECTOR = 'a null labelSelector results in matching no pod';
const hides = (at: string) => `${at}: hides previous definition of "A", which may be dropped when using apply`;

test.each([
  [
    { nodeSelector: { 'beta.kubernetes.io/arch': 'x' } },
    ['spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ],
  [
    {
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z' }] },
      },
    },
    [`spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: ${NULL_SELECTOR}`],
  ],
  [
    container({ env: ['1', '2', '$(A)3', '$(A)'].map((value) => ({ name: 'A', value })) }),
    [hides('spec.containers[0].env[1]'), hides('spec.containers[0].env[3]')],
  ],
  [
    container({ resources: { requests: { memory: '100m', cpu: '1m' } } }),
    ['spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer'],
  ],
  [
    container({
      ports: [
        { containerPort: 80 },
        { containerPort: 80, protocol: 'UDP' },
        { containerPort: 80, hostPort: 81 },
        { containerPort: 80, hostPort: 81, hostIP: '1.2.3.4' },
      ],
    }),
    [
      'spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[0]',
      'spec.containers[0].ports[3]: overlapping port definition with spec.containers[0].ports[0]',
      'spec.containers[0].ports[3]: dangerously ambiguous port definition with spec.containers[0].ports[2]',
    ],
  ],
  [{ imagePullSecrets: [{ name: 'a' }, { name: 'a' }] }, ['spec.imagePullSecrets[1].name: duplicate name "a"']],
  [
    { volumes: [{ name: 'v', rbd: { monitors: ['a'], image: 'i' } }] },
    ['spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+'],
  ],
  [
    {
      volumes: [
        {
          name: 'v',
          secret: {
            secretName: 's',
            items: [
              { key: 'a', path: 'x' },
              { key: 'b', path: 'x/y' },
            ],
          },
        },
      ],
    },
    ['volume "v" (Secret "s"): overlapping paths: "x/y" with "x"'],
  ],
  [{ terminationGracePeriodSeconds: -1 }, []],
])('a pod with %j', async (spec, warnings) => {
  const body = { metadata: { name: 'p' }, spec: { ...BASE, ...spec } };
  const answer = await send('POST', '/api/v1/namespaces/default/pods?dryRun=All', body);
  expect(answer).toEqual({ code: 201, warnings });
});

test('a change of a pod causes no warning', async () => {
  const spec = { ...BASE, nodeSelector: { 'beta.kubernetes.io/os': 'x' } };
  const made = await send('POST', '/api/v1/namespaces/default/pods', { metadata: { name: 'q' }, spec });
  expect(made.warnings).toHaveLength(1);
  const changed = await send('PATCH', '/api/v1/namespaces/default/pods/q', { metadata: { labels: { a: 'b' } } });
  expect(changed).toEqual({ code: 200, warnings: [] });
});

test('a template causes warnings at its creation and at changes of the spec only', async () => {
  const path = '/apis/apps/v1/namespaces/default/deployments';
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: -1 },
  };
  const said =
    'spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1';
  const body = { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
  expect(await send('POST', path, body)).toEqual({ code: 201, warnings: [said] });
  expect(await send('PATCH', `${path}/d`, { metadata: { labels: { x: 'y' } } })).toEqual({ code: 200, warnings: [] });
  expect(await send('PATCH', `${path}/d`, { spec: { replicas: 2 } })).toEqual({ code: 200, warnings: [said] });
});

const IPS = 'spec.externalIPs is deprecated and may no longer be implemented in some clusters';

test.each([
  [{ externalIPs: ['1.2.3.4'] }, [IPS]],
  [
    { trafficDistribution: 'PreferClose' },
    ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
  ],
  [{ trafficDistribution: 'PreferSameZone' }, []],
  [{ clusterIP: 'None', sessionAffinity: 'ClientIP' }, ['spec.SessionAffinity is ignored for headless services']],
  [
    { type: 'ExternalName', externalName: 'a.b', externalIPs: ['1.2.3.4'] },
    ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
  ],
])('a service with %j', async (spec, warnings) => {
  const body = { metadata: { name: 's' }, spec: { ports: [{ port: 80 }], ...spec } };
  expect(await send('POST', '/api/v1/namespaces/default/services?dryRun=All', body)).toEqual({ code: 201, warnings });
});

test('a create of an existing object also returns warnings', async () => {
  const path = '/api/v1/namespaces/default/services';
  const body = { metadata: { name: 't' }, spec: { ports: [{ port: 80 }], externalIPs: ['1.2.3.4'] } };
  expect(await send('POST', path, body)).toEqual({ code: 201, warnings: [IPS] });
  expect(await send('POST', path, body)).toEqual({ code: 409, warnings: [IPS] });
  const wrong = { ...body, spec: { ...body.spec, type: 'x' } };
  expect(await send('POST', path, wrong)).toEqual({ code: 422, warnings: [] });
});

test.each([
  [
    '/api/v1/namespaces/default/secrets',
    { type: 'kubernetes.io/tls', data: { 'tls.crt': 'e30=', 'tls.key': 'e30=' } },
    'tls: failed to find any PEM data in certificate input',
  ],
  [
    '/apis/storage.k8s.io/v1/csidrivers',
    { spec: { tokenRequests: [{ audience: 'x' }] } },
    'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
  ],
  [
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    { addressType: 'FQDN', endpoints: [{ addresses: ['a.b'] }] },
    'spec.addressType: FQDN endpoints are deprecated',
  ],
  [
    '/api/v1/nodes',
    { spec: { externalID: 'x' } },
    'spec.externalID: this field is deprecated, and is unused by Kubernetes',
  ],
  [
    '/apis/storage.k8s.io/v1/storageclasses',
    {
      provisioner: 'x',
      allowedTopologies: [
        { matchLabelExpressions: [{ key: 'failure-domain.beta.kubernetes.io/zone', values: ['a'] }] },
      ],
    },
    'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ],
])('%s', async (path, body, warning) => {
  const answer = await send('POST', `${path}?dryRun=All`, { metadata: { name: 'x' }, ...body });
  expect(answer).toEqual({ code: 201, warnings: [warning] });
});

test('a CSIStorageCapacity with deprecated labels of nodes causes warnings, and its maximum size may be negative', async () => {
  const object = {
    metadata: { name: 'c' },
    storageClassName: 's',
    maximumVolumeSize: '-1',
    nodeTopology: {
      matchLabels: { 'beta.kubernetes.io/os': 'x' },
      matchExpressions: [{ key: 'beta.kubernetes.io/arch', operator: 'Exists' }],
    },
  };
  const path = '/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities';
  expect(await send('POST', path, object)).toEqual({
    code: 201,
    warnings: [
      'nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
      'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
    ],
  });
  expect((await send('PATCH', `${path}/c`, { capacity: '-1' })).code).toBe(422);
});

test.each([
  [
    '/api/v1/namespaces/default/podtemplates',
    {
      template: {
        spec: {
          ...BASE,
          topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' }],
        },
      },
    },
  ],
  ['/apis/storage.k8s.io/v1/csidrivers', { spec: { tokenRequests: [{ audience: 'x' }] } }],
  [
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    { addressType: 'FQDN', endpoints: [{ addresses: ['a.b'] }] },
  ],
])('%s: an update that changes only labels repeats no warnings', async (path, body) => {
  const created = await send('POST', path, { metadata: { name: 'quiet' }, ...body });
  expect(created).toEqual({ code: 201, warnings: [expect.any(String)] });
  const labelled = await send('PATCH', `${path}/quiet`, { metadata: { labels: { a: 'b' } } });
  expect(labelled).toEqual({ code: 200, warnings: [] });
});
