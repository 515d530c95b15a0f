import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { builtinControllers } from '../index.ts';
import { TestPlane } from '../testing.ts';
import { subsetsOf } from './endpoints.ts';

const V1 = '/api/v1/namespaces/default';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

const service = (plane: TestPlane, spec: Record<string, unknown>) =>
  plane.must('POST', `${V1}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's', labels: { tier: 'front' } },
    spec: { selector: { app: 'x' }, ports: [{ port: 80, targetPort: 'web' }], ...spec },
  });

const pod = async (plane: TestPlane, name: string, ip: string, containerPort: number, isReady: boolean) => {
  await plane.must('POST', `${V1}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'x' } },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i', ports: [{ name: 'web', containerPort }] }] },
  });
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
  await plane.patch(`${V1}/pods/${name}/status`, {
    status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions },
  });
};

test('slices and endpoints follow the pods of a service, by the numbers that its ports have there', async () => {
  await using plane = await TestPlane.start('endpoint', 'endpointslice', 'garbage-collector');
  await service(plane, {});
  const [empty] = await plane.list(SLICES);
  expect(empty).toMatchObject({ addressType: 'IPv4', endpoints: null });
  expect(empty?.metadata).toMatchObject({
    labels: { tier: 'front', 'kubernetes.io/service-name': 's' },
    ownerReferences: [{ kind: 'Service', name: 's' }],
  });
  await pod(plane, 'a', '10.0.0.1', 8080, true);
  await pod(plane, 'b', '10.0.0.2', 8080, false);
  await pod(plane, 'c', '10.0.0.3', 9090, true);
  const slices = await plane.list(SLICES);
  const seen = slices.map((slice) => {
    const [port] = slice.ports as { port: number }[];
    const endpoints = slice.endpoints as { addresses: string[]; conditions: { ready: boolean } }[];
    return [port?.port, ...endpoints.map(({ addresses, conditions }) => `${addresses} ${conditions.ready}`)];
  });
  expect(seen.sort()).toEqual([
    [8080, '10.0.0.1 true', '10.0.0.2 false'],
    [9090, '10.0.0.3 true'],
  ]);
  expect((await plane.must('GET', `${V1}/endpoints/s`)).subsets).toMatchObject([
    {
      addresses: [{ ip: '10.0.0.1', nodeName: 'n' }],
      notReadyAddresses: [{ ip: '10.0.0.2' }],
      ports: [{ port: 8080 }],
    },
    { addresses: [{ ip: '10.0.0.3' }], ports: [{ port: 9090 }] },
  ]);
  await plane.must('DELETE', `${V1}/services/s`);
  expect(await plane.list(SLICES)).toEqual([]);
  expect(await plane.exists(`${V1}/endpoints/s`)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('endpoints: ports that the same pods offer share a subset, a port that only some have gets one of its own', () => {
  const pod = (name: string, podIP: string, ports: object[]) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name, labels: { app: 'a' } },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i', ports }] },
    status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const web = [{ name: 'web', containerPort: 8080 }];
  const portsOf = (...pods: ApiObject[]): unknown => {
    const ports = [
      { name: 'http', port: 80, targetPort: 'web' },
      { name: 'raw', port: 81, targetPort: 9000 },
    ];
    const spec = { selector: { app: 'a' }, ipFamilies: ['IPv4'], clusterIP: '10.0.0.9', ports };
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'default' }, spec };
    return subsetsOf(service, pods).map((subset) => [
      (subset.ports as { name: string }[]).map(({ name }) => name),
      (subset.addresses as { ip: string }[]).map(({ ip }) => ip),
    ]);
  };
  expect(portsOf(pod('a', '10.0.0.1', web), pod('b', '10.0.0.2', web))).toEqual([
    [
      ['http', 'raw'],
      ['10.0.0.1', '10.0.0.2'],
    ],
  ]);
  expect(portsOf(pod('a', '10.0.0.1', web), pod('b', '10.0.0.2', []))).toEqual([
    [['http'], ['10.0.0.1']],
    [['raw'], ['10.0.0.1', '10.0.0.2']],
  ]);
});

test('a secret that requests the token of an account gets one, and is deleted with the account', async () => {
  await using plane = await TestPlane.start('serviceaccount-token');
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'bot' } };
  await plane.must('POST', `${V1}/serviceaccounts`, account);
  const annotations = { 'kubernetes.io/service-account.name': 'bot' };
  const type = 'kubernetes.io/service-account-token';
  await plane.must('POST', `${V1}/secrets`, {
    apiVersion: 'v1',
    kind: 'Secret',
    type,
    metadata: { name: 't', annotations },
  });
  const { data } = await plane.must('GET', `${V1}/secrets/t`);
  const { token, namespace } = data as Record<string, string>;
  expect(Buffer.from(namespace ?? '', 'base64').toString()).toBe('default');
  const claims =
    Buffer.from(token ?? '', 'base64')
      .toString()
      .split('.')[1] ?? '';
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    sub: 'system:serviceaccount:default:bot',
    'kubernetes.io': { secret: { name: 't' } },
  });
  await plane.must('DELETE', `${V1}/serviceaccounts/bot`);
  expect(await plane.exists(`${V1}/secrets/t`)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('two pods do not get the same port of one node', async () => {
  await using plane = await TestPlane.start('scheduler');
  await plane.must('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  await plane.patch('/api/v1/nodes/n', { spec: { taints: null } });
  const place = async (name: string, hostIP: string): Promise<string> => {
    const ports = [{ containerPort: 80, hostPort: 80, hostIP }];
    await plane.must('POST', `${V1}/pods`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i', ports }] },
    });
    return ((await plane.must('GET', `${V1}/pods/${name}`)).spec as { nodeName?: string }).nodeName ?? '';
  };
  expect(await place('a', '10.0.0.1')).toBe('n');
  expect(await place('b', '10.0.0.2')).toBe('n');
  expect(await place('c', '0.0.0.0')).toBe('');
  const reported = (await plane.list(`${V1}/events`)).map(({ reason, message }) => `${reason} ${message}`);
  expect(reported).toContainEqual(
    expect.stringContaining(
      "FailedScheduling 0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    ),
  );
  for (const name of ['a', 'b']) await plane.must('DELETE', `${V1}/pods/${name}?gracePeriodSeconds=0`);
  expect((await plane.must('GET', `${V1}/pods/c`)).spec).toMatchObject({ nodeName: 'n' });
});

test('controllers are chosen by their names here and by those of kube-controller-manager', () => {
  const environment = {
    client: { handle: () => Promise.reject(new Error('not asked')) },
    clock: { now: () => new Date(0), setTimeout: () => ({ cancel: () => undefined }) },
    random: () => 0,
  };
  const names = (...chosen: string[]) => builtinControllers(environment, chosen).names;
  expect(names('deployment-controller', 'podgc', 'job')).toEqual(['deployment', 'pod-garbage-collector', 'job']);
  expect(names('*', '-nodelifecycle')).not.toContain('node-lifecycle');
  expect(names('*', '-nodelifecycle')).toContain('scheduler');
  expect(() => names('*', '-nothing')).toThrow('no controller is named nothing');
});
