import { type KubeClient, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { DaemonPaths } from '../config/daemon-paths.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import { configOf, fillWorld, startWorld, WORKER_ROLE, type World } from '../testing.ts';
import { readText, textEntry } from './disk/disk.ts';
import { fileOf, wantedDisk } from './disk/wanted.ts';
import { PlayedFleet } from './fleet.testing.ts';

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain } = NodeAnnotations;

const UNIT = `${DaemonPaths.Units}/x.service`;

async function inFleet(work: (world: World, fleet: PlayedFleet) => Promise<void>, count = 3): Promise<void> {
  const world = await startWorld();
  const { client, clock } = world;
  const fleet = new PlayedFleet(client, clock);
  try {
    await fillWorld(client, { count: 0, maxUnavailable: count });
    const labels = { 'node-role.kubernetes.io/worker': '' };
    for (let index = 0; index < count; index += 1) {
      await client.resource(nodes).create({ metadata: { name: `n${index}`, labels }, spec: {} });
    }
    await client.resource(machineConfigs).create({
      metadata: { name: '50-user', labels: WORKER_ROLE },
      spec: { config: configOf('one'), kernelArguments: ['a'] },
    });
    await clock.advance(60_000);
    await work(world, fleet);
  } finally {
    fleet.stop();
    await world.end();
  }
}

const annotations = async (client: KubeClient, name: string) =>
  (await client.resource(nodes).get(name)).metadata.annotations ?? {};

const write = (client: KubeClient, spec: object) =>
  client.resource(machineConfigs).patch('50-user', { type: 'merge', body: { spec } });

const target = async (client: KubeClient) =>
  (await client.resource(machineConfigPools).get('worker')).spec?.configuration?.name ?? '';

test('nodes without a config get the target; a changed file leads to drain, write, reboot, uncordon and Done', () =>
  inFleet(async ({ client, clock }, fleet) => {
    const first = await target(client);
    const host = fleet.host('n0');
    expect(await annotations(client, 'n0')).toMatchObject({
      [CurrentConfig]: first,
      [DesiredConfig]: first,
      [State]: 'Done',
    });
    expect([await readText(host.disk, '/etc/a'), host.line, host.boots]).toEqual(['one', 'ro quiet a', 1]);
    await write(client, { config: configOf('two', '/etc/b'), kernelArguments: null });
    await clock.advance(60_000);
    const second = await target(client);
    expect(second).not.toBe(first);
    expect(await annotations(client, 'n0')).toMatchObject({
      [CurrentConfig]: second,
      [State]: 'Done',
      [DesiredDrain]: `uncordon-${second}`,
    });
    expect((await client.resource(nodes).get('n0')).spec?.unschedulable ?? false).toBe(false);
    expect([await readText(host.disk, '/etc/a'), await readText(host.disk, '/etc/b'), host.line]).toEqual([
      undefined,
      'two',
      'ro quiet',
    ]);
    expect(host.boots).toBe(2);
  }));

test('a change that does not affect pods is written without a drain and a reboot', () =>
  inFleet(async ({ client, clock }, fleet) => {
    const policy = (text: string) => ({
      config: { ...configOf('one'), storage: { files: [fileOf('/etc/containers/policy.json', text)] } },
    });
    await write(client, policy('{}'));
    await clock.advance(60_000);
    const { boots } = fleet.host('n0');
    const asked = (await annotations(client, 'n0'))[DesiredDrain];
    await write(client, policy('{"default":[]}'));
    await clock.advance(60_000);
    const host = fleet.host('n0');
    expect([host.boots, host.actions]).toEqual([boots, ['Reload']]);
    expect(await annotations(client, 'n0')).toMatchObject({ [CurrentConfig]: await target(client), [State]: 'Done' });
    expect((await annotations(client, 'n0'))[DesiredDrain]).toBe(asked);
  }));

test('a config that cannot be written leaves the disk unchanged and reports why; a revert repairs all nodes', () =>
  inFleet(async ({ client, clock }, fleet) => {
    const good = await target(client);
    const before = fleet.host('n0').memory.image();
    await write(client, { config: configOf('x', '/etc/hostname/below') });
    await clock.advance(60_000);
    const node = await annotations(client, 'n0');
    expect(node).toMatchObject({ [CurrentConfig]: good, [State]: 'Degraded' });
    expect(node[Reason]).toBe('cannot write /etc/hostname/below: /etc/hostname is not a directory');
    expect(fleet.host('n0').memory.image()).toEqual(before);
    await write(client, { config: configOf('one') });
    await clock.advance(60_000);
    expect(await annotations(client, 'n0')).toMatchObject({ [DesiredConfig]: good, [State]: 'Done', [Reason]: '' });
    expect((await client.resource(nodes).get('n0')).spec?.unschedulable ?? false).toBe(false);
  }));

test('a manual change of the disk is reported; after its repair the node is Done, and the force file makes the daemon write all files', () =>
  inFleet(async ({ client, clock }, fleet) => {
    const host = fleet.host('n0');
    const entry = await host.memory.read('/etc/a');
    await host.memory.put('/etc/a', textEntry('mine', 0o644));
    fleet.restart('n0');
    await clock.advance(5_000);
    expect(await annotations(client, 'n0')).toMatchObject({
      [State]: 'Degraded',
      [Reason]: `unexpected on-disk state validating against ${await target(client)}: content mismatch for file "/etc/a"`,
    });
    if (entry) await host.memory.put('/etc/a', entry);
    fleet.restart('n0');
    await clock.advance(5_000);
    expect(await annotations(client, 'n0')).toMatchObject({ [State]: 'Done', [Reason]: '' });
    await host.memory.put('/etc/a', textEntry('mine', 0o644));
    await host.memory.put('/run/machine-config-daemon-force', textEntry(''));
    const { boots } = host;
    fleet.restart('n0');
    await clock.advance(5_000);
    expect([await readText(host.disk, '/etc/a'), host.boots]).toEqual(['one', boots + 1]);
    expect(await host.memory.read('/run/machine-config-daemon-force')).toBeUndefined();
    expect(await annotations(client, 'n0')).toMatchObject({ [State]: 'Done' });
  }));

test('a daemon that dies at any step of an update, before or after its effect, reaches the same state', () =>
  inFleet(async ({ client, clock }, fleet) => {
    const host = fleet.host('n0');
    const old = await host.memory.read('/etc/hostname');
    let deaths = 0;
    for (let round = 0; round < 60; round += 1) {
      const there = round % 2 === 0;
      const files = there ? [fileOf('/etc/hostname', 'ours'), fileOf('/etc/b', 'b', 0o600)] : [fileOf('/etc/a', 'one')];
      const units = there
        ? [{ name: 'x.service', enabled: true, contents: '[Install]\nWantedBy=multi-user.target\n' }]
        : [];
      const config = { ignition: { version: '3.5.0' }, storage: { files }, systemd: { units } };
      [host.left, host.done] = [round >> 1, round % 4 > 1];
      await write(client, { config, kernelArguments: there ? ['a', 'b'] : ['c'] });
      await clock.advance(20_000);
      if (host.left < 0) deaths += 1;
      fleet.restart('n0');
      await clock.advance(70_000);
      expect(await annotations(client, 'n0')).toMatchObject({ [CurrentConfig]: await target(client), [State]: 'Done' });
      expect(host.line).toBe(there ? 'ro quiet a b' : 'ro quiet c');
      const left = host.memory.paths().filter((path) => !path.startsWith('/etc/machine-config-daemon/orig'));
      const own = there ? ['/etc/b', `${DaemonPaths.Units}/multi-user.target.wants/x.service`, UNIT] : ['/etc/a'];
      const always = ['/etc/hostname', '/etc/motd', '/etc/kubernetes/kubelet.conf', DaemonPaths.CurrentConfig];
      expect(left.filter((path) => !path.includes('/noorig/'))).toEqual([...always, ...own].toSorted());
      if (!there) expect(await host.memory.read('/etc/hostname')).toEqual(old);
    }
    expect(deaths).toBeGreaterThan(20);
  }, 1));

async function firstBoot({ client, clock }: World, fleet: PlayedFleet, node: string, name: string): Promise<void> {
  // Writes of Ignition are not steps of the daemon.
  const { memory: disk } = fleet.host(node);
  await disk.put(DaemonPaths.NodeAnnotations, textEntry(JSON.stringify({ [CurrentConfig]: name })));
  const config = await client.resource(machineConfigs).get(name);
  for (const [path, entry] of wantedDisk(config).entries) await disk.put(path, entry);
  await client
    .resource(nodes)
    .create({ metadata: { name: node, labels: { 'node-role.kubernetes.io/worker': '' } }, spec: {} });
  await clock.advance(10_000);
}

test('a machine that booted with a config reboots for its kernel arguments, and only if some are missing', () =>
  inFleet(async (world, fleet) => {
    const { client, clock } = world;
    const name = await target(client);
    await firstBoot(world, fleet, 'bare', name);
    const bare = fleet.host('bare');
    expect([bare.line, bare.boots]).toEqual(['ro quiet a', 1]);
    const done = { [CurrentConfig]: name, [DesiredConfig]: name, [State]: 'Done' };
    expect(await annotations(client, 'bare')).toMatchObject(done);
    expect((await annotations(client, 'bare'))[DesiredDrain]).toBeUndefined();
    fleet.host('ready').line = 'ro a quiet';
    await firstBoot(world, fleet, 'ready', name);
    expect([fleet.host('ready').line, fleet.host('ready').boots]).toEqual(['ro a quiet', 0]);
    expect(await annotations(client, 'ready')).toMatchObject(done);
    await write(client, { kernelArguments: ['b'] });
    await clock.advance(120_000);
    expect([bare.line, fleet.host('ready').line]).toEqual(['ro quiet b', 'ro quiet b']);
  }, 1));

test('a first boot that is interrupted at any step is completed', () =>
  inFleet(async (world, fleet) => {
    const { client, clock } = world;
    const first = await target(client);
    let deaths = 0;
    for (let step = 0; step < 10; step += 1) {
      for (const done of [false, true]) {
        const node = `m${step}-${done}`;
        const host = fleet.host(node);
        [host.left, host.done] = [step, done];
        await firstBoot(world, fleet, node, first);
        if (host.left < 0) deaths += 1;
        fleet.restart(node);
        await clock.advance(10_000);
        expect([host.line, await annotations(client, node)], node).toMatchObject([
          'ro quiet a',
          { [CurrentConfig]: first, [State]: 'Done' },
        ]);
      }
    }
    expect(deaths).toBeGreaterThan(8);
  }, 1));
