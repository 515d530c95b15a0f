import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  Annotations,
  API_VERSION,
  crds,
  type MachineDeployment,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  events,
  type KubeClient,
  type KubeObject,
  leases,
  nodes,
  type ResourceDefinition,
  realClock,
  seededRandom,
} from '@mcm/kube';
import { machineConfigCrds, machineConfigPools } from '@mcm/machine-config';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveDashboard } from './dashboard/serve.ts';
import { createProgram } from './program.ts';

/** Clouds, users and other programs can write any text into objects. */

const EVIL = 'evil\u001b]0;owned\u0007\u009b31m\u202e\u200b\u2028\nmachine/forged';
const RAW = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const NAMESPACE = 'default';

const OPEN = [...crds, ...machineConfigCrds].map(({ spec, ...crd }) => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = spec.versions.map(({ subresources: _, ...version }) => ({ ...version, schema }));
  return { ...crd, spec: { ...spec, versions } };
});

let plane: ControlPlane;
let client: KubeClient;
let dir: string;
let uid = '';
const end = new AbortController();
const server = createServer(async (incoming, outgoing) => {
  const headers = { accept: 'application/json' };
  const answer = await plane.fetch(
    new Request(`http://x${incoming.url}`, { method: incoming.method ?? 'GET', headers }),
  );
  outgoing.writeHead(answer.status, { 'content-type': 'application/json' });
  if (answer.body)
    Readable.fromWeb(answer.body as never)
      .on('error', () => outgoing.destroy())
      .pipe(outgoing);
  else outgoing.end();
});

const create = <T extends KubeObject>(
  definition: ResourceDefinition<T>,
  object: object,
  namespace = true,
): Promise<T> => client.resource(definition, namespace ? NAMESPACE : undefined).create(object as never);

const controlledBy = ({ kind, metadata: { name, uid: id } }: KubeObject) => ({
  ownerReferences: [{ apiVersion: API_VERSION, kind, name, uid: id, controller: true }],
});

const conditions = [{ type: EVIL, status: EVIL, reason: EVIL, message: EVIL, lastTransitionTime: EVIL }];
const annotations = Object.fromEntries(
  Object.values(Annotations)
    .filter((key) => /^[^/]+\/[^/]+$/.test(key))
    .map((key) => [key, EVIL]),
);
const template = {
  metadata: { labels: { app: 'web' } },
  spec: { class: { kind: 'MachineClass', name: EVIL }, nodeTemplate: { metadata: { annotations: { x: EVIL } } } },
};
const fleet = { replicas: 1, selector: { matchLabels: { app: 'web' } }, template };

async function fill(): Promise<void> {
  const spec = { ...fleet, strategy: { type: EVIL } };
  const status = { conditions, failedMachines: [{ name: EVIL, ownerRef: EVIL, lastOperation: { description: EVIL } }] };
  const metadata = { labels: { app: 'web' } };
  await create(machineClasses, {
    metadata: { name: 'small', annotations },
    provider: EVIL,
    providerSpec: { zone: EVIL },
  });
  const good = await create<MachineDeployment>(machineDeployments, {
    metadata: { ...metadata, name: 'good' },
    spec: { ...fleet, strategy: { type: 'Recreate' } },
    status,
  });
  await create(machineDeployments, { metadata: { ...metadata, name: 'bad', annotations }, spec, status });
  const set = await create(machineSets, {
    metadata: { ...metadata, name: 'set', annotations, ...controlledBy(good) },
    spec: { ...fleet, machineClass: { kind: EVIL, name: EVIL } },
    status: { conditions, machineSetCondition: conditions },
  });
  const machine = await create(machines, {
    metadata: { labels: { app: 'web', node: 'node' }, name: 'machine', annotations, ...controlledBy(set) },
    spec: { class: { kind: 'MachineClass', name: EVIL }, providerID: EVIL, drainTimeout: EVIL },
    status: {
      conditions,
      currentStatus: { phase: EVIL, lastUpdateTime: EVIL },
      lastOperation: { description: EVIL, state: EVIL, type: EVIL, errorCode: EVIL, lastUpdateTime: EVIL },
    },
  });
  uid = machine.metadata.uid;
  await create(
    nodes,
    {
      metadata: { name: 'node', annotations },
      spec: { providerID: EVIL },
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'Evil', message: EVIL }] },
    },
    false,
  );
  await create(events, eventNamed('event'));
  await create(leases, {
    metadata: { name: 'machine-controller-manager', annotations: { 'holder-settings': `x ${EVIL}` } },
    spec: { holderIdentity: EVIL, leaseDurationSeconds: 1, renewTime: '2026-01-01T00:00:00.000000Z' },
  });
  await create(
    machineConfigPools,
    {
      metadata: { name: 'pool', annotations },
      spec: { configuration: { name: EVIL } },
      status: { conditions, configuration: { name: EVIL } },
    },
    false,
  );
}

const eventNamed = (name: string) => ({
  metadata: { name },
  involvedObject: { apiVersion: API_VERSION, kind: 'Machine', name: 'machine', namespace: NAMESPACE, uid },
  reason: 'Evil',
  message: EVIL,
  type: 'Warning',
  source: { component: EVIL },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:00:00Z',
});

beforeAll(async () => {
  plane = await startControlPlane({ crds: OPEN, controllers: false });
  client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  await fill();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  dir = mkdtempSync(join(tmpdir(), 'mcm escapes '));
  const { port } = server.address() as { port: number };
  const clusters = [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }];
  const contexts = [{ name: 'c', context: { cluster: 'c' } }];
  writeFileSync(join(dir, 'config'), JSON.stringify({ clusters, contexts, 'current-context': 'c' }));
  const planned = {
    apiVersion: API_VERSION,
    kind: 'MachineDeployment',
    metadata: { name: 'good', namespace: NAMESPACE },
  };
  writeFileSync(
    join(dir, 'plan.yaml'),
    JSON.stringify({ ...planned, spec: { ...fleet, strategy: { type: 'Recreate' } } }),
  );
});

afterAll(async () => {
  end.abort(new Error('the test is over'));
  server.closeAllConnections();
  server.close();
  await plane.close();
  rmSync(dir, { recursive: true });
});

/** Returns the output of a command. */
async function run(words: readonly string[]): Promise<string> {
  const lines: string[] = [];
  const over = new AbortController();
  const program = createProgram({
    stdout: process.stdout,
    say: (line) => {
      lines.push(line);
      if (words.includes('--watch')) setImmediate(() => over.abort(new Error('enough')));
    },
    random: seededRandom(1),
    signal: () => AbortSignal.any([over.signal, end.signal]),
  }).exitOverride();
  const write = program.configureOutput();
  program.configureOutput({ ...write, writeErr: (text) => lines.push(text.replace(/\n$/, '')) });
  try {
    const all = words.map((word) => (word === 'FILE' ? join(dir, 'plan.yaml') : word));
    await program.parseAsync([...all, '--kubeconfig', join(dir, 'config'), '--namespace', NAMESPACE], { from: 'user' });
  } catch (error) {
    if (!over.signal.aborted) throw error;
  }
  return lines.join('\n');
}

test('the dashboard sends no character that reorders or hides text', async () => {
  const clients = { client, target: client, namespace: NAMESPACE, close: async () => undefined };
  const dashboard = await serveDashboard(clients, { random: seededRandom(1), signal: end.signal, port: 0 });
  const stream = (await fetch(new URL('live', dashboard.url))).body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(`"key":"${NAMESPACE}/machine"`)) text += (await stream?.read())?.value ?? '';
  await stream?.cancel();
  for (const path of ['machines', 'rollouts', 'yaml/machine']) {
    const name = path === 'rollouts' ? 'bad' : 'machine';
    const answer = await fetch(new URL(`api/${path}/${NAMESPACE}/${name}`, dashboard.url));
    expect([path, answer.status]).toEqual([path, 200]);
    text += await answer.text();
  }
  expect(text).toContain('\uFFFD');
  expect(text).not.toMatch(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/u);
  await dashboard.close();
});

test.each([
  [['tree', '--all']],
  [['tree', '--watch']],
  [['tree', '--watch', '-o', 'json']],
  [['tree', '-o', 'json']],
  [['events']],
  [['events', '--watch']],
  [['explain', 'machine/machine']],
  [['explain', 'machinedeployment/good']],
  [['explain', 'machinedeployment/bad']],
  [['drain', 'machine', '--preview']],
  [['plan', '-f', 'FILE']],
  [['rollout', 'status', 'good', '--no-watch']],
  [['rollout', 'history', 'good', '-o', 'wide']],
  [['rollout', 'history', 'good', '-o', 'yaml']],
  [['config', 'status', '-o', 'wide']],
  [['config', 'explain', 'pool']],
])('mcm %j prints no control character of an object', async (words) => {
  const text = await run(words);
  expect(text).not.toBe('');
  expect(text).not.toMatch(RAW);
  expect(text).not.toMatch(/^machine\/forged/m);
});
