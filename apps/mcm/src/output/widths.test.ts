import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crds, machineDeployments, machineSets, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  events,
  type KubeClient,
  LeaseAnnotations,
  leases,
  nodes,
  realClock,
  seededRandom,
} from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { controllerConfigs, machineConfigCrds, machineConfigPools, NodeAnnotations } from '@mcm/machine-config';
import { expect, onTestFinished, test } from 'vitest';
import { openDataDir } from '../instance/data-dir.ts';
import { journalText, setNamed } from '../journal/testing.ts';
import { createProgram } from '../program.ts';

const labels = { app: 'web' };
const spec = { class: { kind: 'MachineClass', name: 'a-class-with-a-long-name' } };
const meta = (name: string) => ({ name, namespace: 'default', labels });
const WHY =
  'Drain failed: error while evicting pod "default/guest": pod disruption budget default/guest is misconfigured and requires zero voluntary evictions';

/** Makes the output of this process a terminal with a number of columns. */
function terminal(columns: number): void {
  for (const [key, value] of Object.entries({ isTTY: true, columns })) {
    const before = Object.getOwnPropertyDescriptor(process.stdout, key);
    Object.defineProperty(process.stdout, key, { value, configurable: true });
    onTestFinished(() => {
      if (before) Object.defineProperty(process.stdout, key, before);
      else Reflect.deleteProperty(process.stdout, key);
    });
  }
}

async function addPool(client: KubeClient): Promise<void> {
  const role = 'node-role.kubernetes.io/worker';
  await client.resource(controllerConfigs).create({ metadata: { name: 'machine-config-controller' }, spec: {} });
  await client.resource(machineConfigPools).create({
    metadata: { name: 'worker' },
    spec: {
      machineConfigSelector: { matchLabels: { a: 'b' } },
      nodeSelector: { matchLabels: { [role]: '' } },
      configuration: { name: 'rendered-worker-0123456789abcdef' },
    },
  });
  const { CurrentConfig, DesiredConfig, State, Reason } = NodeAnnotations;
  const annotations = { [CurrentConfig]: 'old', [DesiredConfig]: 'new', [State]: 'Degraded', [Reason]: WHY };
  await client.resource(nodes).create({
    metadata: { name: 'workers-of-the-first-zone-65444-6b92k', labels: { [role]: '' }, annotations },
    spec: {},
  });
}

/** Adds the peer Lease of a replica that has stopped, with many clusters. */
async function addReplica(client: KubeClient): Promise<void> {
  const clusters = ['shoot--project--first', 'shoot--project--second', 'shoot--project--third'];
  await client.resource(leases, 'default').create({
    metadata: {
      name: 'machine-controller-manager-fleet-replica-of-the-first-zone',
      namespace: 'default',
      annotations: { [LeaseAnnotations.FleetClusters]: clusters.join(',') },
    },
    spec: { renewTime: '2026-01-01T00:00:00.000000Z' },
  } as never);
}

/** Serves the journal of a controller that contains a long reason. */
async function serveJournal(): Promise<string> {
  const set = setNamed('workers-of-the-first-zone-65444');
  const text = journalText('machine-controller-manager', [{ set, machines: 4, because: WHY }]);
  const server = createServer((_, response) => response.end(text));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function addInstance(folder: string, kubeconfig: string): void {
  const data = openDataDir(folder);
  onTestFinished(() => data.release());
  data.write({ format: 1, pid: process.pid, startedAt: '2026-01-01T00:00:00Z', seeded: true });
  writeFileSync(join(folder, 'kubeconfig'), kubeconfig);
}

async function troubledCluster(): Promise<(words: readonly string[]) => Promise<readonly string[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-widths-'));
  const plane = await startControlPlane({ crds: [...crds, ...machineConfigCrds], controllers: false, port: 0 });
  onTestFinished(async () => {
    await plane.close();
    rmSync(folder, { recursive: true });
  });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });
  const at = '2026-01-01T00:00:00Z';
  const template = { metadata: { labels }, spec };
  const progress = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: WHY };
  const deployment = await client.resource(machineDeployments, 'default').create({
    metadata: meta('workers-of-the-first-zone'),
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  } as never);
  const change = { status: { replicas: 3, conditions: [{ ...progress, lastUpdateTime: at, lastTransitionTime: at }] } };
  await client
    .resource(machineDeployments, 'default')
    .patch(deployment.metadata.name, { type: 'merge', body: change }, { subresource: 'status' });
  const owner = (kind: string, { metadata: { name, uid } }: { metadata: { name: string; uid: string } }) => ({
    ownerReferences: [{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind, name, uid, controller: true }],
  });
  const set = await client.resource(machineSets, 'default').create({
    metadata: { ...meta('workers-of-the-first-zone-65444'), ...owner('MachineDeployment', deployment) },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  } as never);
  const name = 'workers-of-the-first-zone-65444-6b92k';
  await client.resource(machines, 'default').create({
    metadata: { ...meta(name), ...owner('MachineSet', set) },
    spec,
  } as never);
  const operation = { type: 'Delete', state: 'Processing', description: WHY, lastUpdateTime: at };
  const body = { status: { currentStatus: { phase: 'Terminating', lastUpdateTime: at }, lastOperation: operation } };
  await client.resource(machines, 'default').patch(name, { type: 'merge', body }, { subresource: 'status' });
  await client.resource(events, 'default').create({
    metadata: { name: 'blocked', namespace: 'default' },
    involvedObject: { apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'Machine', namespace: 'default', name },
    type: 'Warning',
    reason: 'DeletionBlocked',
    message: WHY,
    lastTimestamp: at,
    firstTimestamp: at,
    count: 1,
  } as never);
  await addPool(client);
  await addReplica(client);
  const kubeconfig = join(folder, 'kubeconfig');
  addInstance(folder, plane.kubeconfig());
  const places: Readonly<Record<string, readonly string[]>> = {
    status: ['--data-dir', folder],
    journal: ['--kubeconfig', kubeconfig, '--controller', await serveJournal()],
  };
  return async (words) => {
    const said: string[] = [];
    const program = createProgram({
      say: (line) => said.push(line),
      random: seededRandom(1),
      signal: () => new AbortController().signal,
      stdout: process.stdout,
    });
    await program.parseAsync(['node', 'mcm', ...words, ...(places[words[0] ?? ''] ?? ['--kubeconfig', kubeconfig])]);
    // The rollout of the deployment has failed, so `rollout status` sets an exit code, which the test resets.
    process.exitCode = 0;
    return said.join('\n').split('\n');
  };
}

const COMMANDS: readonly (readonly string[])[] = [
  ['tree'],
  ['tree', '-o', 'wide'],
  ['events'],
  ['explain', 'machinedeployment/workers-of-the-first-zone'],
  ['explain', 'machine/workers-of-the-first-zone-65444-6b92k'],
  ['drain', 'workers-of-the-first-zone-65444-6b92k', '--preview'],
  ['rollout', 'history', 'workers-of-the-first-zone'],
  ['rollout', 'status', 'workers-of-the-first-zone', '--no-watch'],
  ['status'],
  ['journal'],
  ['journal', '-o', 'wide'],
  ['fleet', 'status'],
  ['zone', 'list'],
  ['config', 'status'],
  ['config', 'status', '-o', 'wide'],
  ['config', 'explain', 'worker'],
];
const WIDTHS = sampled([40, 50, 60, 80, 120, 200], 3);
/** Returns the words of lines without ages and remaining times, which change between two runs of a command. */
const words = (lines: readonly string[]): readonly string[] =>
  lines.flatMap((line) => line.split(/[\s│├└─]+/).filter((word) => word !== '' && !/^\(?\d+[smhd]/.test(word)));

test('at 40 to 200 columns, each command keeps all words, and each line fits if its words fit', async () => {
  const run = await troubledCluster();
  for (const command of COMMANDS) {
    terminal(10_000);
    const whole = words(await run(command));
    expect(whole.length, command.join(' ')).toBeGreaterThan(2);
    for (const width of WIDTHS) {
      terminal(width);
      const lines = await run(command);
      const what = `${command.join(' ')} at ${width} columns`;
      expect(words(lines), what).toEqual(whole);
      // A word that is longer than the terminal has a separate line, where a double click selects it.
      const long = lines.filter((line) => line.length > width && /\S\s+\S/.test(line.replace(/^[\s│├└─-]+/, '')));
      expect(long, what).toEqual([]);
    }
  }
});
