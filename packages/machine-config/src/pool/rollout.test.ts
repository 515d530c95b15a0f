import { Annotations, formatTime, Labels } from '@mcm/api';
import { type KubeClient, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { conditionOf } from '../conditions/conditions.ts';
import { ConfigAnnotations, NodeAnnotations } from '../constants/annotations.ts';
import { machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import {
  configOf,
  fillWorld,
  playDaemons,
  startWorld,
  storedConfigs,
  WORKER_ROLE,
  type World,
  type WorldOptions,
} from '../testing.ts';

async function inWorld(options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> {
  const world = await startWorld(options);
  try {
    await work(world);
  } finally {
    await world.end();
  }
}

const worker = (client: KubeClient) => client.resource(machineConfigPools).get('worker');
const { DesiredConfig, CurrentConfig, State } = NodeAnnotations;

const targeted = async (client: KubeClient): Promise<number> => {
  const target = (await worker(client)).spec?.configuration?.name;
  const { items } = await client.resource(nodes).list();
  return items.filter(({ metadata }) => metadata.annotations?.[DesiredConfig] === target).length;
};

const write = (client: KubeClient, data: string) =>
  client.resource(machineConfigs).patch('50-user', { type: 'merge', body: { spec: { config: configOf(data) } } });

async function settle({ client, clock }: World, rounds = 20): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await clock.advance(6_000);
    await playDaemons(client);
  }
}

test('canaries get the target first, and the others after the soak time', () =>
  inWorld({}, async (world) => {
    const { client, clock } = world;
    await fillWorld(client, { count: 6, maxUnavailable: 3 });
    const annotations = { [ConfigAnnotations.Canary]: '1', [ConfigAnnotations.CanarySoak]: '30m' };
    await client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { metadata: { annotations } } });
    await clock.advance(20_000);
    expect(await targeted(client)).toBe(1);
    await playDaemons(client);
    await clock.advance(25 * 60_000);
    expect(await targeted(client)).toBe(1);
    expect(conditionOf((await worker(client)).status?.conditions, 'CanaryPassed')).toMatchObject({ status: 'True' });
    await clock.advance(6 * 60_000);
    expect(await targeted(client)).toBe(4);
    await settle(world);
    expect(conditionOf((await worker(client)).status?.conditions, 'Updated')?.status).toBe('True');
  }));

const annotate = (client: KubeClient, annotations: Record<string, string | null>) =>
  client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { metadata: { annotations } } });
const waiting = async (client: KubeClient) => conditionOf((await worker(client)).status?.conditions, 'RolloutWaiting');
const hours = (count: number) => count * 60 * 60_000;

test('a pool updates its nodes only in its windows, and completes what it began', () =>
  inWorld({}, async (world) => {
    const { client, clock } = world;
    await fillWorld(client, { count: 6, maxUnavailable: 2 });
    const opens = new Date(Math.ceil((clock.now().getTime() + hours(2)) / hours(1)) * hours(1));
    await annotate(client, { [Annotations.RolloutWindows]: `0 ${opens.getUTCHours()} * * * UTC 5m` });
    await clock.advance(hours(1));
    expect(await targeted(client)).toBe(0);
    expect(await waiting(client)).toMatchObject({
      status: 'True',
      reason: 'OutsideWindow',
      message: expect.stringContaining(`the rollout may continue at ${formatTime(opens)}`),
    });
    await clock.advance(opens.getTime() - clock.now().getTime() + 20_000);
    expect(await targeted(client)).toBe(2);
    expect((await waiting(client))?.status).toBe('False');
    await clock.advance(hours(1));
    await settle(world);
    expect(await targeted(client)).toBe(2);
    expect((await waiting(client))?.status).toBe('True');
    const later = new Date(clock.now().getTime() + hours(1));
    await annotate(client, { [Annotations.RolloutOpenUntil]: formatTime(later) });
    await settle(world);
    expect(conditionOf((await worker(client)).status?.conditions, 'Updated')?.status).toBe('True');
  }));

test.each([
  ['a freeze', Annotations.RolloutFreezes, '2000-01-01T00:00:00Z/2100-01-01T00:00:00Z stock-taking', 'InFreeze'],
  ['an invalid window', Annotations.RolloutWindows, 'at night', 'InvalidWindow'],
])('%s stops the rollout of a pool until the annotation is removed', (_title, key, text, reason) =>
  inWorld({}, async (world) => {
    const { client, clock } = world;
    await fillWorld(client, { count: 2 });
    await annotate(client, { [key]: text });
    await clock.advance(hours(30));
    expect(await targeted(client)).toBe(0);
    expect(await waiting(client)).toMatchObject({ status: 'True', reason });
    await annotate(client, { [key]: null });
    await settle(world);
    expect(await targeted(client)).toBe(2);
  }),
);

test('a node that postpones gets no target, the others do, and its time ends without an event', () =>
  inWorld({}, async (world) => {
    const { client, clock } = world;
    await fillWorld(client, { count: 4, maxUnavailable: 2 });
    const [first] = (await client.resource(nodes).list()).items;
    const name = first?.metadata.name ?? '';
    const until = Math.ceil((clock.now().getTime() + hours(3)) / 1000);
    const labels = { [Labels.RolloutPostpone]: String(until) };
    await client.resource(nodes).patch(name, { type: 'merge', body: { metadata: { labels } } });
    await settle(world);
    expect(await targeted(client)).toBe(3);
    expect(await waiting(client)).toMatchObject({
      reason: 'NodePostponed',
      message: `nodes postpone their update: ${name}`,
    });
    await clock.advance(until * 1000 - clock.now().getTime() + 5_000);
    expect(await targeted(client)).toBe(4);
    expect((await waiting(client))?.status).toBe('False');
  }));

test('an override of a pool ignores the labels of its nodes', () =>
  inWorld({}, async (world) => {
    const { client, clock } = world;
    await fillWorld(client, { count: 2, maxUnavailable: 2 });
    const labels = { [Labels.RolloutPostpone]: 'true' };
    for (const { metadata } of (await client.resource(nodes).list()).items)
      await client.resource(nodes).patch(metadata.name, { type: 'merge', body: { metadata: { labels } } });
    await clock.advance(hours(1));
    expect(await targeted(client)).toBe(0);
    await annotate(client, { [Annotations.RolloutOpenUntil]: '2100-01-01T00:00:00Z' });
    await clock.advance(20_000);
    expect(await targeted(client)).toBe(2);
  }));

test('an invalid canary annotation blocks the pool and is reported', () =>
  inWorld({}, async ({ client, clock }) => {
    await fillWorld(client, { count: 2 });
    const annotations = { [ConfigAnnotations.Canary]: 'few' };
    await client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { metadata: { annotations } } });
    await clock.advance(60_000);
    expect(await targeted(client)).toBe(0);
  }));

test('the circuit breaker stops a rollout whose updated nodes become Degraded, until the change is reverted', () =>
  inWorld({ update: { haltAt: 2 } }, async (world) => {
    const { client, clock } = world;
    await fillWorld(client, { count: 12, maxUnavailable: 2 });
    const spec = { config: configOf('good') };
    await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec });
    await settle(world, 12);
    expect(await targeted(client)).toBe(12);
    const good = (await worker(client)).spec?.configuration?.name ?? '';
    await write(client, 'bad');
    for (let round = 0; round < 6; round += 1) {
      await clock.advance(6_000);
      await playDaemons(client, (config) => config !== good);
    }
    const { status } = await worker(client);
    expect(conditionOf(status?.conditions, 'RolloutHalted')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('2 nodes became Degraded with MachineConfig rendered-worker-'),
    });
    expect(await targeted(client)).toBe(2);
    await write(client, 'good');
    await settle(world, 6);
    const recovered = await worker(client);
    expect(recovered.spec?.configuration?.name).toBe(good);
    expect(conditionOf(recovered.status?.conditions, 'RolloutHalted')?.status).toBe('False');
    expect(conditionOf(recovered.status?.conditions, 'Updated')?.status).toBe('True');
  }));

test('unused renders are deleted except the newest', () =>
  inWorld({ render: { keepRenders: 2, renderWhilePaused: true } }, async (world) => {
    const { client, clock } = world;
    await fillWorld(client, { count: 1 });
    const spec = { config: configOf('0') };
    await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec });
    await clock.advance(20_000);
    const onNode = (await worker(client)).spec?.configuration?.name ?? '';
    await client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { spec: { paused: true } } });
    await playDaemons(client);
    for (let version = 1; version <= 6; version += 1) {
      await write(client, String(version));
      await clock.advance(20_000);
    }
    const target = (await worker(client)).spec?.configuration?.name;
    const renders = (await storedConfigs(client)).filter((name) => name.startsWith('rendered-'));
    expect(renders).toContain(onNode);
    expect(renders).toContain(target);
    expect(renders).toHaveLength(4);
  }));

test('a node that moves to another pool during an update is counted and updated by the new pool [S17]', () =>
  inWorld({}, async ({ client, clock }) => {
    await fillWorld(client, { count: 2 });
    await clock.advance(20_000);
    expect(await targeted(client)).toBe(1);
    await client.resource(machineConfigs).create({
      metadata: { name: '50-infra', labels: { 'machineconfiguration.openshift.io/role': 'infra' } },
      spec: { config: configOf('infra') },
    });
    await client.resource(machineConfigPools).create({
      metadata: { name: 'infra' },
      spec: {
        machineConfigSelector: {
          matchExpressions: [
            { key: 'machineconfiguration.openshift.io/role', operator: 'In', values: ['worker', 'infra'] },
          ],
        },
        nodeSelector: { matchLabels: { 'node-role.kubernetes.io/infra': '' } },
      },
    });
    await clock.advance(20_000);
    const { items } = await client.resource(nodes).list();
    const moving = items.find(({ metadata }) => metadata.annotations?.[DesiredConfig] !== 'rendered-old');
    const name = moving?.metadata.name ?? '';
    const old = (await worker(client)).spec?.configuration?.name ?? '';
    const done = {
      labels: { 'node-role.kubernetes.io/infra': '' },
      annotations: { [CurrentConfig]: old, [State]: 'Done' },
    };
    await client.resource(nodes).patch(name, { type: 'merge', body: { metadata: done } });
    await clock.advance(20_000);
    const infra = await client.resource(machineConfigPools).get('infra');
    expect(infra.status?.machineCount).toBe(1);
    expect((await worker(client)).status?.machineCount).toBe(1);
    expect((await client.resource(nodes).get(name)).metadata.annotations?.[DesiredConfig]).toBe(
      infra.spec?.configuration?.name,
    );
  }));

test('a node waits with the taint, and the write of its target removes it', () =>
  inWorld({}, async ({ client, clock, writes }) => {
    await fillWorld(client, { count: 2 });
    await clock.advance(20_000);
    const { items } = await client.resource(nodes).list();
    const marked = items.filter(({ spec }) => spec?.taints?.some(({ key }) => key === 'UpdateInProgress'));
    expect(marked.map(({ metadata }) => metadata.annotations?.[DesiredConfig])).toEqual(['rendered-old']);
    expect(await targeted(client)).toBe(1);
    writes.length = 0;
    await playDaemons(client);
    await clock.advance(20_000);
    expect(await targeted(client)).toBe(2);
    const { spec } = await client.resource(nodes).get(marked[0]?.metadata.name ?? '');
    expect((spec?.taints ?? []).map(({ key }) => key)).not.toContain('UpdateInProgress');
    expect(writes.filter((one) => one.includes('/nodes/'))).toHaveLength(1);
  }));
