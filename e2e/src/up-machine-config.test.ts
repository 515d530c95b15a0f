import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createClient,
  createInformer,
  loadKubeconfig,
  type Node,
  nodes,
  realClock,
  seededRandom,
  silentLogger,
  undiciTransport,
} from '@mcm/kube';
import {
  ConfigLabels,
  conditionOf,
  type MachineConfigPool,
  machineConfigPools,
  machineConfigs,
  NodeAnnotations,
} from '@mcm/machine-config';
import { sharedBundle } from '@mcm/tools/bundles';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mcm } from './harness/mcm.ts';

const program = await sharedBundle('mcm');

/** Runs `mcm up --machine-config` in separate processes, from the view of a user. */

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'mcm e2e '));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const PATIENCE_MS = 240_000;

/** Follows the pools and nodes of a running `mcm up`. */
async function follow(dataDir: string) {
  const transport = undiciTransport(await loadKubeconfig(join(dataDir, 'kubeconfig')));
  const client = createClient({ transport, userAgent: 'mcm-e2e', clock: realClock });
  const runtime = { clock: realClock, random: seededRandom(1), log: silentLogger };
  const caches = {
    pools: createInformer<MachineConfigPool>(client, machineConfigPools, runtime),
    nodes: createInformer<Node>(client, nodes, runtime),
  };
  const stop = new AbortController();
  const running = Object.values(caches).map((cache) => cache.run(stop.signal));
  const pool = (name: string) => caches.pools.store.get(name);
  const targetOf = (name: string) => pool(name)?.spec?.configuration?.name ?? '';
  const nodesOf = (prefix: string) =>
    caches.nodes.store.list().filter(({ metadata }) => metadata.name.startsWith(`${prefix}-`));
  const said = ({ metadata }: Node, key: string) => metadata.annotations?.[key] ?? '';
  const until = (what: string, reached: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!reached()) return;
        for (const end of ends) end();
        resolve();
      };
      const late = realClock.setTimeout(() => reject(new Error(`not reached: ${what}`)), PATIENCE_MS / 3);
      const ends = [caches.pools.onChange(look), caches.nodes.onChange(look), () => late.cancel()];
      look();
    });
  return {
    client,
    pool,
    targetOf,
    nodesOf,
    said,
    until,
    isAt: (name: string, prefix: string, count: number) => {
      const { status } = pool(name) ?? {};
      const own = nodesOf(prefix);
      const at =
        own.length === count && own.every((node) => said(node, NodeAnnotations.CurrentConfig) === targetOf(name));
      return at && conditionOf(status?.conditions, 'Updated')?.status === 'True';
    },
    close: async () => {
      stop.abort();
      await Promise.all(running);
      await transport.close();
    },
  };
}

const file = (path: string, text: string) => ({
  spec: {
    config: { ignition: { version: '3.5.0' }, storage: { files: [{ path, contents: { source: `data:,${text}` } }] } },
  },
});

test('two pools: machines boot with their target; a changed file is rolled out, a broken one stops at maxUnavailable, a revert fixes it', {
  timeout: PATIENCE_MS,
}, async () => {
  const run = mcm(['up', '--no-tty', '--machine-config', '--machines=1'], { cwd, program });
  await run.line(/^ready: 3 machines Running/);
  const world = await follow(join(cwd, '.mcm'));
  const { client, nodesOf, said, targetOf, until, isAt } = world;
  try {
    await until(
      'both pools are at their first target',
      () => isAt('infra', 'infra', 2) && isAt('worker', 'workers', 1),
    );
    // Each machine got its files over TLS with its own token, before its Node existed.
    const log = readFileSync(join(cwd, '.mcm', 'logs', 'machine-config-controller.log'), 'utf8');
    const booted = log.split('\n').filter((line) => line.includes('Served the configuration to a machine'));
    const wanted = [targetOf('infra'), targetOf('infra'), targetOf('worker')];
    expect(booted.map((line) => (JSON.parse(line) as { config: string }).config).toSorted()).toEqual(wanted.toSorted());
    expect(nodesOf('infra').map((node) => said(node, NodeAnnotations.DesiredDrain))).toEqual(['', '']);

    const first = targetOf('infra');
    const labels = { [ConfigLabels.Role]: 'infra' };
    await client
      .resource(machineConfigs)
      .create({ metadata: { name: '60-motd', labels }, ...file('/etc/motd', 'hello') });
    await until('the file is on all nodes', () => targetOf('infra') !== first && isAt('infra', 'infra', 2));
    const good = targetOf('infra');

    const change = (path: string, text: string) =>
      client.resource(machineConfigs).patch('60-motd', { type: 'merge', body: file(path, text) });
    // The path `/etc/hostname/x` is below a file, so no machine can write it.
    await change('/etc/hostname/x', 'broken');
    await until('one node is degraded', () => (world.pool('infra')?.status?.degradedMachineCount ?? 0) > 0);
    const states = nodesOf('infra').map((node) => [
      said(node, NodeAnnotations.CurrentConfig) === good,
      said(node, NodeAnnotations.State),
      said(node, NodeAnnotations.DesiredConfig) === good,
    ]);
    expect(states.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      [true, 'Degraded', false],
      [true, 'Done', true],
    ]);
    expect(conditionOf(world.pool('infra')?.status?.conditions, 'NodeDegraded')?.message).toContain(
      '/etc/hostname is not a directory',
    );

    await change('/etc/motd', 'hello');
    await until('all nodes are well', () => targetOf('infra') === good && isAt('infra', 'infra', 2));
    expect(
      nodesOf('infra').map((node) => [said(node, NodeAnnotations.State), node.spec.unschedulable ?? false]),
    ).toEqual([
      ['Done', false],
      ['Done', false],
    ]);
  } finally {
    await world.close();
    run.child.kill('SIGINT');
  }
  expect(await run.ended).toMatchObject({ code: 0 });
});
