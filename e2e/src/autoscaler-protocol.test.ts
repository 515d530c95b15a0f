import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, credentials, loadPackageDefinition, type ServiceClientConstructor, status } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import {
  Annotations,
  crds,
  type MachineClass,
  type MachineDeployment,
  machineClasses,
  machineDeployments,
} from '@mcm/api';
import { createAuthority, startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createMemoryLogger,
  createMetrics,
  type Draft,
  realClock,
  seededRandom,
  type Transport,
} from '@mcm/kube';
import { DESCRIPTOR, SERVICE, serveAutoscaler } from '@mcm/machine-controller-manager';
import { expect, onTestFinished, test } from 'vitest';
import { issueCertificate } from './harness/certificates.ts';
import { freePort } from './harness/free-port.ts';

/** Tests the server for the external gRPC protocol of the autoscaler. */

const NAMESPACE = 'default';
const ID = 'default/pool';
const clock = realClock;

async function started() {
  const plane = await startControlPlane({ crds, controllers: false });
  onTestFinished(() => plane.close());
  let isDown = false;
  const transport: Transport = (request) =>
    isDown ? Promise.reject(new Error('connect ECONNREFUSED')) : plane.transport(request);
  const goDown = (): void => {
    isDown = true;
  };
  const client = createClient({ transport, userAgent: 'test', clock });
  await client.resource(machineClasses, NAMESPACE).create({
    metadata: { name: 'small', namespace: NAMESPACE },
    providerSpec: {},
    secretRef: { name: 'small', namespace: NAMESPACE },
    nodeTemplate: { capacity: { cpu: '4', gpu: '0', memory: '16Gi' }, instanceType: 'm', region: 'r', zone: 'z' },
  } as Draft<MachineClass>);
  const deployments = client.resource<MachineDeployment>(machineDeployments, NAMESPACE);
  await deployments.create({
    metadata: {
      name: 'pool',
      namespace: NAMESPACE,
      annotations: { [Annotations.AutoscalerMinSize]: '1', [Annotations.AutoscalerMaxSize]: '3' },
    },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'pool' } },
      template: { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
    },
  } as Draft<MachineDeployment>);
  const folder = mkdtempSync(join(tmpdir(), 'mcm-autoscaler-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const authority = createAuthority(clock.now());
  const server = issueCertificate(authority, 'serverAuth');
  writeFileSync(join(folder, 'tls.crt'), server.cert);
  writeFileSync(join(folder, 'tls.key'), server.key);
  writeFileSync(join(folder, 'ca.crt'), authority.certificate);
  const port = await freePort();
  const log = createMemoryLogger();
  const runtime = { clock, random: seededRandom(1), log };
  const metrics = createMetrics({ prefix: 'mcm_' });
  const served = { use: () => undefined, unusable: () => undefined };
  const stop = await serveAutoscaler(
    { host: '127.0.0.1', port, certificates: folder },
    { control: client, target: client, namespace: NAMESPACE, runtime, clock, log, served, meters: metrics.meters },
  );
  onTestFinished(() => stop?.());
  const metric = async (name: string): Promise<readonly string[]> =>
    (await metrics.registry.getSingleMetricAsString(name)).split('\n').filter((line) => !line.startsWith('#'));
  return { plane, deployments, port, authority, metric, goDown };
}

function connect(port: number, ca: string, pair?: { readonly cert: string; readonly key: string }) {
  const loaded = SERVICE.split('.').reduce<unknown>(
    (inner, name) => (inner as Record<string, unknown>)[name],
    loadPackageDefinition(fromJSON(DESCRIPTOR, { defaults: true })),
  );
  const secure = credentials.createSsl(Buffer.from(ca), pair && Buffer.from(pair.key), pair && Buffer.from(pair.cert));
  const stub = new (loaded as ServiceClientConstructor)(`localhost:${port}`, secure);
  onTestFinished(() => stub.close());
  return (method: string, request: object = {}) =>
    new Promise<Record<string, unknown>>((resolve) => {
      const call = Reflect.get(stub, method) as (
        this: Client,
        request: object,
        done: (error: { code: number; details: string } | null, reply: never) => void,
      ) => void;
      call.call(stub, request, (error, reply) =>
        resolve(error ? { code: status[error.code] ?? '', details: error.details } : reply),
      );
    });
}

test('a cluster autoscaler finds the groups, changes sizes, and reads the template node', async () => {
  const { plane, deployments, port, authority, metric } = await started();
  const call = connect(port, authority.certificate, issueCertificate(authority, 'clientAuth'));
  await expect.poll(() => call('Refresh')).toEqual({});
  expect(await call('NodeGroups')).toEqual({
    nodeGroups: [{ id: ID, minSize: 1, maxSize: 3, debug: `${ID}: 2 replicas, minimum 1, maximum 3` }],
  });
  expect(await call('NodeGroupTargetSize', { id: ID })).toEqual({ targetSize: 2 });
  expect(await call('NodeGroupIncreaseSize', { id: ID, delta: 1 })).toEqual({});
  expect((await deployments.get('pool')).spec.replicas).toBe(3);
  expect(await call('NodeGroupIncreaseSize', { id: ID, delta: 1 })).toEqual({
    code: 'OUT_OF_RANGE',
    details: `${ID}: size 4 is above the maximum 3`,
  });
  expect(await call('NodeGroupDecreaseTargetSize', { id: ID, delta: -2 })).toEqual({});
  expect((await deployments.get('pool')).spec.replicas).toBe(1);
  expect(await call('NodeGroupDeleteNodes', { id: ID, nodes: [{ name: 'other' }] })).toMatchObject({
    code: 'NOT_FOUND',
  });
  expect(await call('NodeGroupForNode', { node: { name: 'other' } })).toMatchObject({ nodeGroup: { id: '' } });
  expect(await call('NodeGroupTargetSize', { id: 'default/other' })).toMatchObject({ code: 'NOT_FOUND' });
  expect(await call('NodeGroupNodes', { id: ID })).toEqual({ instances: [] });
  const { nodeBytes } = await call('NodeGroupTemplateNodeInfo', { id: ID });
  if (!Buffer.isBuffer(nodeBytes)) throw new Error('no Node');
  // The test sends the bytes to an API server, which must decode them as a Node.
  const sent = await plane.fetch(
    new Request('https://plane/api/v1/nodes', {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf', accept: 'application/json' },
      body: enveloped(nodeBytes),
    }),
  );
  const created = await sent.json();
  expect(created).toMatchObject({
    metadata: { name: 'template-pool', labels: { 'topology.kubernetes.io/zone': 'z' } },
    status: { allocatable: { cpu: '4', memory: '16Gi', pods: '110' }, conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const counted = await metric('mcm_autoscaler_requests_total');
  expect(counted).toContain('mcm_autoscaler_requests_total{method="NodeGroupIncreaseSize",code="OK"} 1');
  expect(counted).toContain('mcm_autoscaler_requests_total{method="NodeGroupIncreaseSize",code="OUT_OF_RANGE"} 1');
  expect(counted).toContain('mcm_autoscaler_requests_total{method="NodeGroupDeleteNodes",code="NOT_FOUND"} 1');
  expect(await metric('mcm_autoscaler_node_groups')).toEqual(['mcm_autoscaler_node_groups 1']);
  expect(await metric('mcm_autoscaler_request_duration_seconds')).toContain(
    'mcm_autoscaler_request_duration_seconds_count{method="NodeGroupIncreaseSize"} 2',
  );
});

function enveloped(node: Buffer): Buffer {
  const field = (id: number, bytes: Uint8Array): Buffer => {
    const length: number[] = [];
    for (let rest = bytes.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest <= 127) break;
    }
    return Buffer.concat([Buffer.from([(id << 3) | 2, ...length]), bytes]);
  };
  const typeMeta = Buffer.concat([field(1, Buffer.from('v1')), field(2, Buffer.from('Node'))]);
  return Buffer.concat([Buffer.from('k8s\0', 'latin1'), field(1, typeMeta), field(2, node)]);
}

test('a client without a certificate of the authority gets no answer', async () => {
  const { deployments, port, authority, metric } = await started();
  const stranger = issueCertificate(createAuthority(clock.now()), 'clientAuth');
  for (const pair of [undefined, stranger]) {
    const call = connect(port, authority.certificate, pair);
    expect(await call('NodeGroupIncreaseSize', { id: ID, delta: 1 })).toMatchObject({ code: 'UNAVAILABLE' });
  }
  expect(await metric('mcm_autoscaler_requests_total')).toEqual([]);
  expect((await deployments.get('pool')).spec.replicas).toBe(2);
});

test('while the API server is unreachable, a request that writes fails with a code that the autoscaler repeats', async () => {
  const { goDown, port, authority, metric } = await started();
  const call = connect(port, authority.certificate, issueCertificate(authority, 'clientAuth'));
  await expect.poll(() => call('Refresh')).toEqual({});
  goDown();
  expect(await call('NodeGroupTargetSize', { id: ID })).toEqual({ targetSize: 2 });
  expect(await call('NodeGroupIncreaseSize', { id: ID, delta: 1 })).toMatchObject({ code: 'UNAVAILABLE' });
  expect(await metric('mcm_autoscaler_requests_total')).toContain(
    'mcm_autoscaler_requests_total{method="NodeGroupIncreaseSize",code="UNAVAILABLE"} 1',
  );
});
