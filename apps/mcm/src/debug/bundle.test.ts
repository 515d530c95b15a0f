import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Annotations, crds, type MachineClass, machineClasses, machineDeployments, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { readJournal, replayJournal } from '@mcm/core';
import { createClient, type KubeClient, KubeError, nodes, pods, secrets, VirtualClock } from '@mcm/kube';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { journalText, setNamed } from '../journal/testing.ts';
import { collectBundle } from './bundle.ts';
import { localLogs } from './logs.ts';

const NS = 'shoot';
const CANARY = 'kx7-canary-of-the-cloud';
const clock = new VirtualClock();
let client: KubeClient;
let close: () => Promise<void>;
let refuse: (path: string) => boolean;

beforeEach(async () => {
  const plane = await startControlPlane({ clock, crds, controllers: false });
  close = () => plane.close();
  refuse = () => false;
  const transport = plane.transport;
  client = createClient({
    transport: (request) => {
      if (refuse(request.path))
        throw new KubeError(`GET ${request.path}: forbidden`, { code: 403, reason: 'Forbidden' });
      return transport(request);
    },
    userAgent: 'test',
    clock,
  });
  await client.request('POST', '/api/v1/namespaces', {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NS } },
  });
  const data = { userData: Buffer.from('#!/bin/sh\n').toString('base64'), key: Buffer.from(CANARY).toString('base64') };
  await client.resource(secrets, NS).create({ metadata: { name: 'cloud', namespace: NS }, data } as never);
  await client.resource<MachineClass>(machineClasses, NS).create({
    metadata: { name: 'small', namespace: NS, annotations: { [Annotations.QuarantinedVMs]: 'fake:///a' } },
    providerSpec: { note: `uses ${CANARY}` },
    secretRef: { name: 'cloud', namespace: NS },
  } as never);
  const template = { metadata: { labels: { a: 'b' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
  await client.resource(machineDeployments, NS).create({
    metadata: { name: 'web', namespace: NS, annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' } },
    spec: { replicas: 1, selector: { matchLabels: { a: 'b' } }, template },
  } as never);
  const machine = await client.resource(machines, NS).create({
    metadata: { name: 'm-0', namespace: NS, labels: { node: 'm-0' } },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
  } as never);
  const status = { lastOperation: { description: `the cloud said: bad key ${CANARY}` } };
  await client
    .resource(machines, NS)
    .patch(machine.metadata.name, { type: 'merge', body: { status } }, { subresource: 'status' });
  await client.resource(nodes).create({ metadata: { name: 'm-0' }, spec: {} });
  await client.resource(pods, 'default').create({
    metadata: { name: 'p', namespace: 'default' },
    spec: {
      nodeName: 'm-0',
      containers: [{ name: 'c', image: 'i', env: [{ name: 'DB_PASSWORD', value: 'hunter2hunter2' }] }],
    },
  } as never);
});
afterEach(() => close());

const collect = () => {
  const cluster: Cluster = { client, target: client, namespace: NS, close: async () => undefined };
  return collectBundle(cluster, '1.2.3', clock.now());
};

test('the bundle contains objects, events and the tree', async () => {
  const files = new Map((await collect()).map(({ name, text }) => [name, text]));
  expect([...files.keys()]).toEqual([
    'about.yaml',
    'tree.txt',
    ...['machinedeployments', 'machinesets', 'machines', 'machineclasses', 'leases', 'events', 'node-events'].map(
      (n) => `${n}.yaml`,
    ),
    ...['nodes', 'pods', 'poddisruptionbudgets', 'volumeattachments'].map((n) => `${n}.yaml`),
  ]);
  expect(files.get('tree.txt')).toContain('machine/m-0');
  expect(files.get('machines.yaml')).toContain('the cloud said: bad key ***');
  expect(files.get('machineclasses.yaml')).toContain(`${Annotations.QuarantinedVMs}: fake:///a`);
  expect(files.get('machinedeployments.yaml')).not.toContain('last-applied');
  expect(files.get('pods.yaml')).toContain('nodeName: m-0');
});

test('the bundle contains no secrets', async () => {
  const all = (await collect()).map(({ text }) => text).join('');
  for (const secret of [CANARY, Buffer.from(CANARY).toString('base64'), 'hunter2', 'managedFields']) {
    expect(all).not.toContain(secret);
  }
});

test('the values of several Secrets with the same keys are removed', async () => {
  const first = 'password-of-the-first-class';
  const second = 'password-of-the-second-class';
  for (const [name, key] of [
    ['one', first],
    ['two', second],
  ] as const) {
    const data = { key: Buffer.from(key).toString('base64') };
    await client.resource(secrets, NS).create({ metadata: { name, namespace: NS }, data } as never);
    await client.resource<MachineClass>(machineClasses, NS).create({
      metadata: { name, namespace: NS },
      providerSpec: { note: `${first} ${second}` },
      secretRef: { name, namespace: NS },
    } as never);
  }
  const all = (await collect()).map(({ text }) => text).join('');
  for (const secret of [CANARY, first, second]) expect(all).not.toContain(secret);
});

test.each(['missing', 'a/b'])(
  'a class with the Secret %j does not prevent the removal of other Secrets’ values',
  async (name) => {
    await client.resource<MachineClass>(machineClasses, NS).create({
      metadata: { name: 'other', namespace: NS },
      providerSpec: {},
      secretRef: { name, namespace: NS },
    } as never);
    const files = new Map((await collect()).map((file) => [file.name, file.text]));
    expect([...files.values()].join('')).not.toContain(CANARY);
    expect(files.get('errors.txt')).toContain(`cannot read Secret ${name}, so its values may remain in the files: `);
  },
);

test('the bundle lists unreadable kinds and contains the others', async () => {
  refuse = (path) => path.includes('/pods') || path.includes('/secrets');
  const files = new Map((await collect()).map(({ name, text }) => [name, text]));
  expect(files.get('errors.txt')).toMatch(
    /^pods: .*forbidden\ncannot read Secret cloud, so its values may remain in the files: .*forbidden\n$/,
  );
  expect(files.has('pods.yaml')).toBe(false);
  expect(files.has('machines.yaml')).toBe(true);
});

test('the bundle contains the redacted logs of a local instance', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'mcm-bundle-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  expect(localLogs(dataDir)).toEqual({ files: [], errors: [] });
  mkdirSync(join(dataDir, 'logs'));
  const lines = [...Array.from({ length: 2_000 }, (_, i) => `line ${i}`), `login with ${CANARY} failed`];
  writeFileSync(join(dataDir, 'logs', 'machine-controller-local.log'), `${lines.join('\n')}\n`);
  const cluster: Cluster = { client, target: client, namespace: NS, close: async () => undefined };
  const files = await collectBundle(cluster, '1.2.3', clock.now(), localLogs(dataDir));
  const log = files.find(({ name }) => name === 'log-machine-controller-local.txt')?.text ?? '';
  expect(log.startsWith('line 1\n')).toBe(true);
  expect(log.endsWith('login with *** failed\n')).toBe(true);
});

test('the bundle contains the logs of the pods of an installation, also those before a restart', async () => {
  const metadata = { name: 'mcm-0', namespace: NS, labels: { 'app.kubernetes.io/name': 'machine-controller-manager' } };
  const containers = ['manager', 'controller'].map((name) => ({ name, image: 'i' }));
  await client.resource(pods, NS).create({ metadata, spec: { containers } } as never);
  const containerStatuses = [{ name: 'controller', restartCount: 2, ready: true, image: 'i', imageID: '' }];
  await client
    .resource(pods, NS)
    .patch('mcm-0', { type: 'merge', body: { status: { containerStatuses } } }, { subresource: 'status' });
  const text = async (path: string): Promise<string> => {
    if (path.includes('previous=true')) return 'before the restart\n';
    if (path.includes('container=manager')) throw new Error('no log yet');
    return `key ${CANARY}\n`;
  };
  const cluster: Cluster = { client, target: client, namespace: NS, text, close: async () => undefined };
  const files = new Map((await collectBundle(cluster, '1.2.3', clock.now())).map((file) => [file.name, file.text]));
  expect(files.get('log-mcm-0-controller.txt')).toBe('key ***\n');
  expect(files.get('log-mcm-0-controller-previous.txt')).toBe('before the restart\n');
  expect(files.get('errors.txt')).toContain('log-mcm-0-manager.txt: no log yet');
});

test('journals of controllers are files without secrets, and their decisions can be repeated', async () => {
  const set = setNamed('web-1', { note: `"quoted" ${CANARY}` });
  const lines = journalText('machine-controller-manager', [{ set, machines: 4 }]).split('\n');
  const found = [{ lines, journal: readJournal(lines) }];
  const problems = ['no controller responds at http://127.0.0.1:10259: connect ECONNREFUSED'];
  const cluster: Cluster = { client, target: client, namespace: NS, close: async () => undefined };
  const files = await collectBundle(cluster, '1.2.3', clock.now(), undefined, { found, problems });
  const text = files.find(({ name }) => name === 'journal-machine-controller-manager.ndjson')?.text ?? '';
  expect(text).toContain('***');
  expect(text).not.toContain(CANARY);
  const { records } = readJournal(text.split('\n'));
  expect(replayJournal(records)).toEqual({ repeated: 1, differences: [], problems: [] });
  expect(files.find(({ name }) => name === 'errors.txt')?.text).toContain(`journal: ${problems[0]}`);
});
