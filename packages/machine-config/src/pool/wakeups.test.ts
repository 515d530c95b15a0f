import { Labels, machineDeployments, machineSets, machines } from '@mcm/api';
import { deploymentManifest, machineManifest, setManifest } from '@mcm/api/testing';
import { type KubeClient, type KubeObject, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { conditionOf } from '../conditions/conditions.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import {
  configOf,
  createNodes,
  fillWorld,
  playDaemons,
  startWorld,
  WORKER_ROLE,
  type World,
  type WorldOptions,
} from '../testing.ts';

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain } = NodeAnnotations;

async function inWorld(options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> {
  const world = await startWorld(options);
  try {
    await work(world);
  } finally {
    await world.end();
  }
}

const poolNow = (client: KubeClient, name: string) => client.resource(machineConfigPools).get(name);
const desired = async (client: KubeClient, name: string) =>
  (await client.resource(nodes).get(name)).metadata.annotations?.[DesiredConfig];

const createPool = (
  client: KubeClient,
  name: string,
  spec: object = { nodeSelector: { matchLabels: { [name]: '' } } },
) =>
  client.resource(machineConfigPools).create({
    metadata: { name },
    spec: { machineConfigSelector: { matchLabels: WORKER_ROLE }, ...spec } as never,
  });

const label = (client: KubeClient, name: string, labels: object) =>
  client.resource(nodes).patch(name, { type: 'merge', body: { metadata: { labels } } });

test('a new pool takes its nodes out of the counts of another pool, and a deleted one returns them', () =>
  inWorld({}, async ({ client, clock }) => {
    await fillWorld(client, { count: 2, maxUnavailable: 2 });
    await label(client, 'n1', { infra: '' });
    await clock.advance(30_000);
    await playDaemons(client);
    expect((await poolNow(client, 'worker')).status?.machineCount).toBe(2);
    await createPool(client, 'infra');
    await clock.advance(30_000);
    await playDaemons(client);
    expect((await poolNow(client, 'worker')).status?.machineCount).toBe(1);
    expect((await poolNow(client, 'infra')).status?.machineCount).toBe(1);
    await client.resource(machineConfigPools).patch('infra', { type: 'merge', body: { spec: { paused: true } } });
    const body = { spec: { config: configOf('two') } };
    await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, ...body });
    await clock.advance(30_000);
    const before = await desired(client, 'n1');
    await client.resource(machineConfigPools).delete('infra');
    await clock.advance(30_000);
    const worker = await poolNow(client, 'worker');
    expect(worker.status?.machineCount).toBe(2);
    expect(before).not.toBe(worker.spec?.configuration?.name);
    expect(await desired(client, 'n1')).toBe(worker.spec?.configuration?.name);
  }));

test('a node that two custom pools claim is reported by both, once', () =>
  inWorld({}, async ({ client, clock, writes }) => {
    await fillWorld(client, { count: 2 });
    for (const name of ['infra', 'gpu']) await createPool(client, name);
    await clock.advance(30_000);
    await label(client, 'n1', { infra: '', gpu: '' });
    await clock.advance(5_000);
    for (const name of ['infra', 'gpu']) {
      const { status } = await poolNow(client, name);
      expect(conditionOf(status?.conditions, 'NodesClaimed')?.status).toBe('True');
      expect(conditionOf(status?.conditions, 'Degraded')?.status).toBe('True');
    }
    writes.length = 0;
    await clock.advance(600_000);
    expect(writes).toEqual([]);
  }));

test('a node that fails on its first configuration is reported by its pool, and gets the corrected one', () =>
  inWorld({}, async ({ client, clock }) => {
    await fillWorld(client, { count: 1 });
    await clock.advance(30_000);
    const bad = (await poolNow(client, 'worker')).spec?.configuration?.name ?? '';
    const failed = {
      [CurrentConfig]: null,
      [DesiredConfig]: bad,
      [State]: 'Working',
      [Reason]: '',
      [DesiredDrain]: `drain-${bad}`,
      [LastAppliedDrain]: `drain-${bad}`,
    };
    const patch = (annotations: object) =>
      client.resource(nodes).patch('n0', { type: 'merge', body: { metadata: { annotations } } });
    await patch(failed);
    await client.resource(nodes).patch('n0', { type: 'merge', body: { spec: { unschedulable: true } } });
    const body = { spec: { config: configOf('two') } };
    await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, ...body });
    await clock.advance(30_000);
    await patch({ [State]: 'Degraded', [Reason]: 'cannot write /etc/a' });
    await clock.advance(5_000);
    const { spec, status } = await poolNow(client, 'worker');
    expect(await desired(client, 'n0')).toBe(spec?.configuration?.name);
    expect(spec?.configuration?.name).not.toBe(bad);
    expect(conditionOf(status?.conditions, 'NodeDegraded')?.message).toContain('cannot write /etc/a');
  }));

const owned = (manifest: object, { kind = '', metadata: { name, uid } }: KubeObject): never =>
  ({
    ...manifest,
    metadata: {
      ...(manifest as KubeObject).metadata,
      ownerReferences: [{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind, name, uid, controller: true }],
    },
  }) as never;

test('a node that is a machine of a pool over machines leaves the pool that selects it [10.2]', () =>
  inWorld({ machines: true }, async ({ client, clock }) => {
    await fillWorld(client, { count: 0 });
    await createNodes(client, 2);
    const refs = { machineRefs: [{ kind: 'MachineDeployment', namespace: 'default', name: 'pool' }] };
    await createPool(client, 'machines', refs);
    const made = await client
      .resource(machineDeployments, 'default')
      .create(deploymentManifest({ replicas: 1 }) as never);
    const deployment = { ...made, kind: 'MachineDeployment' };
    const set = await client.resource(machineSets, 'default').create(owned(setManifest({ replicas: 1 }), deployment));
    const machine = await client
      .resource(machines, 'default')
      .create(owned(machineManifest(), { ...set, kind: 'MachineSet' }));
    await clock.advance(30_000);
    expect((await poolNow(client, 'worker')).status?.machineCount).toBe(2);
    const body = { metadata: { labels: { [Labels.Node]: 'n1' } } };
    await client.resource(machines, 'default').patch(machine.metadata.name, { type: 'merge', body });
    await clock.advance(5_000);
    expect((await poolNow(client, 'worker')).status?.machineCount).toBe(1);
    expect((await poolNow(client, 'machines')).status?.machineCount).toBe(1);
  }));
