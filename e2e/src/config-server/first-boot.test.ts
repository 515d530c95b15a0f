import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, type Machine, type MachineSet, machineSets, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { machineTokenId } from '@mcm/core';
import {
  createClient,
  createMemoryLogger,
  createMetrics,
  handlerTransport,
  issueAuthority,
  issueServing,
  type KubeClient,
  type Logger,
  type MemoryLogger,
  realClock,
  type ServingPair,
  secrets,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';
import { controllerConfigs, machineConfigCrds, machineConfigPools, machineConfigs } from '@mcm/machine-config';
import { type ConfigServer, type ConfigServerSettings, startConfigServer } from '@mcm/machine-config-controller';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** Connects as a machine does at its first boot: over TLS, with the CA of its user data and its bootstrap token. */

const HOST = '127.0.0.1';
async function signed(): Promise<{ readonly ca: string; readonly pair: ServingPair }> {
  const now = Date.now();
  const validity = { from: new Date(now - 60_000), until: new Date(now + 3_600_000) };
  const authority = await issueAuthority(validity);
  return { ca: authority.cert, pair: await issueServing(authority, [HOST], validity) };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

const V35 = 'application/vnd.coreos.ignition+json;version=3.5.0';
let plane: ControlPlane;
let client: KubeClient;
let server: ConfigServer;
let start: (chosen?: Partial<ConfigServerSettings>) => Promise<ConfigServer>;
let log: MemoryLogger;
let onInfo: (message: string) => void = () => undefined;
let directory: string;
let ca: string;
let asked: string[];
let watched: string[];
let clock: VirtualClock;
const metrics = () => createMetrics({ prefix: 'mcc_' });
let meters = metrics();

const ask = (path: string, token?: string, { method = 'GET', accept = V35, headers = {} } = {}) =>
  new Promise<Answer>((resolve, reject) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = { host: HOST, port: server.port, path, method, ca, agent: false };
    const sent = request(
      { ...options, headers: { ...authorization, ...(accept && { accept }), ...headers } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      },
    );
    sent.on('error', reject);
    sent.end();
  });
const statusOf = async (...given: Parameters<typeof ask>) => (await ask(...given)).status;

const put = async ({ cert, key }: ServingPair) => {
  await writeFile(join(directory, 'tls.crt'), cert);
  await writeFile(join(directory, 'tls.key'), key);
};

async function pool(name: string, deployment?: string): Promise<void> {
  const rendered = { name: `rendered-${name}-1` };
  await client.resource(machineConfigs).create({
    metadata: rendered,
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path: '/etc/pool', contents: { source: `data:,${name}` } }] },
      },
    },
  });
  const machineRef = { kind: 'MachineDeployment' as const, namespace: 'default', name: deployment ?? '' };
  await client.resource(machineConfigPools).create({
    metadata: { name },
    spec: { configuration: rendered, ...(deployment !== undefined && { machineRef }) },
  });
}

async function machineToken(deployment: string): Promise<string> {
  const owner = (kind: string, name: string, uid: string) => ({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  });
  const labels = { name: deployment };
  const set = await client.resource<MachineSet>(machineSets, 'default').create({
    metadata: { name: `${deployment}-1`, ownerReferences: [owner('MachineDeployment', deployment, 'd')] },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'c' } } },
    },
  });
  const machine = await client.resource<Machine>(machines, 'default').create({
    metadata: {
      name: `${deployment}-1-a`,
      ownerReferences: [owner('MachineSet', set.metadata.name, set.metadata.uid)],
    },
    spec: { class: { kind: 'MachineClass', name: 'c' } },
  });
  return bootstrapToken(machineTokenId(machine));
}

async function bootstrapToken(id: string): Promise<string> {
  const secret = '0123456789abcdef';
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  await client.resource(secrets, 'kube-system').create({
    metadata: { name: `bootstrap-token-${id}` },
    type: 'bootstrap.kubernetes.io/token',
    data: {
      'token-id': base64(id),
      'token-secret': base64(secret),
      'usage-bootstrap-authentication': base64('true'),
      expiration: base64(new Date(Date.now() + 3_600_000).toISOString()),
    },
  });
  return `${id}.${secret}`;
}

beforeEach(async () => {
  plane = await startControlPlane({ crds: [...machineConfigCrds, ...crds], controllers: false });
  client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  asked = [];
  watched = [];
  clock = new VirtualClock({ start: new Date() });
  directory = await mkdtemp(join(tmpdir(), 'config-server-'));
  const { pair, ...rest } = await signed();
  ca = rest.ca;
  await put(pair);
  log = createMemoryLogger();
  meters = metrics();
  const heard: Logger = {
    ...log,
    info: (message, fields) => {
      log.info(message, fields);
      onInfo(message);
    },
  };
  start = (chosen = {}) => {
    const own = handlerTransport((request) => {
      asked.push(`${request.method} ${new URL(request.url).pathname}`);
      return plane.fetch(request);
    });
    const control = createClient({ transport: own, userAgent: 'server', clock: realClock });
    const settings = {
      host: HOST,
      port: 0,
      certificates: directory,
      limit: { burst: 20, perMinute: 1 },
      machinePools: false,
      selfMade: { namespace: 'default', secret: 'boots', names: [HOST] },
      ...chosen,
    };
    const random = seededRandom(1);
    const served = { use: ({ cert }: ServingPair) => watched.push(cert), unusable: () => undefined };
    const context = { control, target: client, clock, random, log: heard, meters: meters.meters, served };
    return startConfigServer(settings, context);
  };
  server = await start();
  await client.resource(controllerConfigs).create({
    metadata: { name: 'machine-config-controller' },
    spec: { platform: 'none', apiServerURL: 'https://api.example:6443' },
  });
});
afterEach(async () => {
  await server.close();
  await plane.close();
  await rm(directory, { recursive: true });
});

test('GET and HEAD for the pool of a machine return its configuration, POST is not allowed [W1]', async () => {
  await pool('worker', 'workers');
  const token = await machineToken('workers');
  const { status, headers, text } = await ask('/config/worker', token);
  expect([status, headers['content-type']]).toEqual([200, 'application/json']);
  const config = JSON.parse(text);
  expect(config.ignition.version).toBe('3.5.0');
  const paths = config.storage.files.map(({ path }: { path: string }) => path);
  expect(paths).toEqual(expect.arrayContaining(['/etc/pool', '/etc/kubernetes/kubeconfig']));
  const head = await ask('/config/worker', token, { method: 'HEAD' });
  expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(Buffer.byteLength(text))]);
  expect(await statusOf('/config/worker', token, { method: 'POST' })).toBe(405);
  expect(await statusOf('/elsewhere', token)).toBe(404);
  expect(await statusOf('/config/../config/worker', token)).toBe(404);
  expect(await ask('/healthz')).toMatchObject({ status: 200, text: 'ok' });
  expect((await meters.scrape()).text).toContain('mcc_config_server_requests_total{code="200"} 3');
});

test('a machine gets only the configuration of its pool, and a client without a valid token gets none', async () => {
  await pool('worker', 'workers');
  await pool('infra', 'infras');
  await pool('selected');
  const token = await machineToken('workers');
  expect(await statusOf('/config/worker', token)).toBe(200);
  expect(await ask('/config/infra', token)).toMatchObject({
    status: 403,
    text: expect.stringContaining('does not belong to pool infra: no object in spec.machineRefs of the pool owns'),
  });
  expect(await statusOf('/config/selected', token)).toBe(403);
  expect(await statusOf('/config/nowhere', token)).toBe(403);
  expect((await ask('/config/worker')).headers['www-authenticate']).toBe('Bearer');
  for (const other of [undefined, 'abcdef.0123456789abcdef', 'x'])
    expect(await statusOf('/config/worker', other)).toBe(401);
  // A bootstrap token can be valid in the cluster although no machine owns the token.
  expect(await statusOf('/config/worker', await bootstrapToken('zzzzzz'))).toBe(403);
});

test('RBAC gives tokens access to a pool without machines of mcm, pool by pool', async () => {
  await pool('selected');
  await pool('other');
  const token = await bootstrapToken('aaaaaa');
  expect(await statusOf('/config/selected', token)).toBe(403);
  const rbac = 'rbac.authorization.k8s.io';
  await client.request('POST', `/apis/${rbac}/v1/clusterroles`, {
    body: {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'boot-selected' },
      rules: [
        {
          apiGroups: ['machineconfiguration.openshift.io'],
          resources: ['machineconfigpools/bootconfig'],
          resourceNames: ['selected', 'nowhere'],
          verbs: ['get'],
        },
      ],
    },
  });
  await client.request('POST', `/apis/${rbac}/v1/clusterrolebindings`, {
    body: {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'boot-selected' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'boot-selected' },
      subjects: [{ kind: 'Group', apiGroup: rbac, name: 'system:bootstrappers' }],
    },
  });
  expect(await statusOf('/config/selected', token)).toBe(200);
  expect(await statusOf('/config/other', token)).toBe(403);
  expect(await statusOf('/config/nowhere', token)).toBe(404);
});

test('a failed look-up returns 500, and the log contains the cause [W2]', async () => {
  await pool('worker', 'workers');
  const token = await machineToken('workers');
  await client.resource(machineConfigs).delete('rendered-worker-1');
  expect(await statusOf('/config/worker', token)).toBe(500);
  expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
    { message: 'Cannot serve the configuration to a machine' },
  ]);
  const body = { spec: { configuration: null } };
  await client.resource(machineConfigPools).patch('worker', { type: 'merge', body });
  expect(await ask('/config/worker', token)).toMatchObject({
    status: 500,
    text: expect.stringContaining('not rendered yet'),
  });
});

test('an unsupported version returns 400, and no version means 2.2 [W4]', async () => {
  await pool('worker', 'workers');
  const token = await machineToken('workers');
  const accept = 'application/vnd.coreos.ignition+json;version=4.0.0';
  expect(await statusOf('/config/worker', token, { accept })).toBe(400);
  expect(JSON.parse((await ask('/config/worker', token, { accept: '' })).text).ignition.version).toBe('2.2.0');
});

test('a client with too many requests gets a retry time, and headers that are too large are refused', async () => {
  const statuses = await Promise.all(Array.from({ length: 25 }, () => ask('/config/worker')));
  expect(statuses.filter(({ status }) => status === 401).length).toBe(20);
  const late = statuses.find(({ status }) => status === 429);
  expect(Number(late?.headers['retry-after'])).toBeGreaterThan(1);
  expect(await statusOf('/healthz', undefined, { headers: { filler: 'x'.repeat(9000) } })).toBe(431);
});

test('a new certificate is used without a restart, and the log contains no token and no secret', async () => {
  await pool('worker', 'workers');
  const token = await machineToken('workers');
  expect(await statusOf('/config/worker', token)).toBe(200);
  expect(await statusOf('/config/other', token)).toBe(403);
  const second = await signed();
  await put(second.pair);
  await clock.advance(10_000);
  ca = second.ca;
  expect(await statusOf('/config/worker', token)).toBe(200);
  expect(watched.slice(1)).toEqual([second.pair.cert]);
  expect(JSON.stringify(log.lines)).not.toContain('0123456789abcdef');
  expect(log.lines.length).toBeGreaterThan(3);
});

const reported = (wanted: string) =>
  new Promise<void>((resolve) => {
    onInfo = (message) => {
      if (message === wanted) resolve();
    };
  });

test('without files the certificates are self-signed, and two replicas share them', async () => {
  await server.close();
  const serving = reported('Serving first boots with a self-signed certificate');
  meters = metrics();
  server = await start({ certificates: '' });
  await expect(ask('/healthz')).rejects.toThrow();
  await serving;
  const data = (await client.resource(secrets, 'default').get('boots')).data ?? {};
  ca = Buffer.from(data['ca.crt'] ?? '', 'base64').toString('utf8');
  expect(await statusOf('/healthz')).toBe(200);
  expect(watched.at(-1)).toBe(Buffer.from(data['tls.crt'] ?? '', 'base64').toString('utf8'));
  const first = server;
  const second = reported('Serving first boots with a self-signed certificate');
  meters = metrics();
  server = await start({ certificates: '' });
  await second;
  await first.close();
  expect(await statusOf('/healthz')).toBe(200);
  expect((await client.resource(secrets, 'default').get('boots')).data).toEqual(data);
  expect(JSON.stringify(log.lines)).not.toContain('PRIVATE KEY');
});

test('the server finds the machine of a token in a cache, so a request causes no list', async () => {
  await server.close();
  await pool('worker', 'workers');
  await pool('infra', 'infras');
  const token = await machineToken('workers');
  meters = metrics();
  server = await start({ machinePools: true, limit: { burst: 1000, perMinute: 1 } });
  const lists = () => asked.filter((each) => /^GET .*machine(set)?s$/.test(each)).length;
  const reads = async (...given: Parameters<typeof ask>) => {
    const before = lists();
    return { status: await statusOf(...given), lists: lists() - before };
  };
  expect(await reads('/config/worker', token)).toMatchObject({ status: 200 });
  for (let turn = 0; turn < 200; turn++) if ((await reads('/config/infra', token)).lists === 0) break;
  expect(await reads('/config/worker', token)).toEqual({ status: 200, lists: 0 });
  expect(await reads('/config/infra', token)).toEqual({ status: 403, lists: 0 });
  // An unknown token may belong to a new machine, so the config server lists the machines again.
  expect(await reads('/config/worker', await bootstrapToken('zzzzzz'))).toEqual({ status: 403, lists: 2 });
});
