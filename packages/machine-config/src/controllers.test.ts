import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createRecorder,
  handlerTransport,
  type KubeClient,
  nodes,
  seededRandom,
  silentLogger,
  VirtualClock,
} from '@mcm/kube';
import { expect, test } from 'vitest';
import { conditionOf } from './conditions/conditions.ts';
import { ConfigAnnotations, NodeAnnotations } from './constants/annotations.ts';
import { ConfigLabels } from './constants/labels.ts';
import { CONTROLLER_CONFIG_NAME } from './constants/names.ts';
import { type ConfigContext, createConfigCaches } from './controllers/caches.ts';
import { machineConfigCrds } from './crd/crds.ts';
import { controllerConfigs, machineConfigPools, machineConfigs } from './kinds/resources.ts';
import { createUpdateController } from './pool/controller.ts';
import { createRenderController } from './render/controller.ts';

const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;

async function start() {
  const clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  const random = seededRandom(7);
  const plane = await startControlPlane({
    clock,
    random: () => random.next(),
    crds: [...machineConfigCrds],
    controllers: false,
  });
  const writes: string[] = [];
  const transport = handlerTransport((request) => {
    if (request.method !== 'GET') writes.push(`${request.method} ${new URL(request.url).pathname}`);
    return plane.fetch(request);
  });
  const client = createClient({ transport, userAgent: 'test', clock });
  const caches = createConfigCaches(client, client, { clock, random, log: silentLogger });
  const recorder = createRecorder({ client, component: 'test', clock, log: silentLogger });
  const context: ConfigContext = {
    client,
    caches,
    clock,
    random,
    log: silentLogger,
    recorder,
    identity: { version: 'v1', hash: 'h' },
  };
  const stop = new AbortController();
  const controllers = [createRenderController(context), createUpdateController(context)];
  const running = [
    ...Object.values(caches).map((one) => one.run(stop.signal)),
    ...controllers.map((one) => one.run(stop.signal)),
  ];
  const end = async () => {
    stop.abort();
    await Promise.allSettled(running);
    await plane.close();
  };
  return { client, clock, writes, end };
}

const role = { [ConfigLabels.Role]: 'worker' };
const configWith = (data: string) => ({
  ignition: { version: '3.5.0' },
  storage: { files: [{ path: '/etc/a', contents: { source: `data:,${data}` } }] },
});

async function fill(client: KubeClient): Promise<void> {
  const annotations = { [ConfigAnnotations.GeneratedByVersion]: 'v1' };
  const config = await client
    .resource(controllerConfigs)
    .create({ metadata: { name: CONTROLLER_CONFIG_NAME, annotations }, spec: {} });
  const status = {
    observedGeneration: config.metadata.generation ?? 1,
    conditions: [{ type: 'TemplateControllerCompleted', status: 'True' }],
  };
  await client
    .resource(controllerConfigs)
    .patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body: { status } }, { subresource: 'status' });
  await client
    .resource(machineConfigs)
    .create({ metadata: { name: '00-worker', labels: role }, spec: { config: configWith('1') } });
  const spec = {
    machineConfigSelector: { matchLabels: role },
    nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } },
  };
  await client.resource(machineConfigPools).create({ metadata: { name: 'worker' }, spec });
  for (const name of ['a', 'b', 'c']) {
    const labels = { 'node-role.kubernetes.io/worker': '' };
    const old = { [CurrentConfig]: 'rendered-worker-old', [DesiredConfig]: 'rendered-worker-old', [State]: 'Done' };
    await client.resource(nodes).create({ metadata: { name, labels, annotations: old }, spec: {} });
  }
}

test('a changed file is rendered and reaches one node after the other, then nothing is written [A9]', async () => {
  const { client, clock, writes, end } = await start();
  try {
    await fill(client);
    const poolNow = () => client.resource(machineConfigPools).get('worker');
    for (let round = 0; round < 4; round += 1) {
      await clock.advance(30_000);
      const { items } = await client.resource(nodes).list();
      const target = (await poolNow()).spec?.configuration?.name ?? '';
      expect(target).toMatch(/^rendered-worker-[0-9a-f]{32}$/);
      const targeted = items.filter(({ metadata: { annotations = {} } }) => annotations[DesiredConfig] === target);
      const busy = targeted.filter(({ metadata: { annotations = {} } }) => annotations[CurrentConfig] !== target);
      expect(busy).toHaveLength(round < 3 ? 1 : 0);
      for (const { metadata } of busy) {
        const annotations = { [CurrentConfig]: target, [State]: 'Done' };
        await client.resource(nodes).patch(metadata.name, { type: 'merge', body: { metadata: { annotations } } });
      }
    }
    await clock.advance(30_000);
    const { status, spec } = await poolNow();
    expect(conditionOf(status?.conditions, 'Updated')?.status).toBe('True');
    expect(conditionOf(status?.conditions, 'RenderDegraded')?.status).toBe('False');
    expect(status).toMatchObject({
      machineCount: 3,
      updatedMachineCount: 3,
      configuration: { name: spec?.configuration?.name },
    });
    writes.length = 0;
    await clock.advance(600_000);
    expect(writes).toEqual([]);
  } finally {
    await end();
  }
});

test('a bad config degrades the pool with object and field, and the last valid render stays the target', async () => {
  const { client, clock, end } = await start();
  try {
    await fill(client);
    await clock.advance(30_000);
    const before = (await client.resource(machineConfigPools).get('worker')).spec?.configuration?.name;
    await client
      .resource(machineConfigs)
      .create({ metadata: { name: '99-bad', labels: role }, spec: { kernelType: 'turbo' } });
    await clock.advance(30_000);
    const { spec, status } = await client.resource(machineConfigPools).get('worker');
    expect(spec?.configuration?.name).toBe(before);
    expect(conditionOf(status?.conditions, 'RenderDegraded')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('kernelType=turbo'),
    });
    await clock.advance(30_000);
    const events = await client.request<{ items: { reason: string; message: string }[] }>('GET', '/api/v1/events');
    expect(events.items).toContainEqual(
      expect.objectContaining({ reason: 'RenderFailed', message: expect.stringContaining('kernelType=turbo') }),
    );
    await client.resource(machineConfigs).delete('99-bad');
    await clock.advance(90_000);
    const recovered = await client.resource(machineConfigPools).get('worker');
    expect(conditionOf(recovered.status?.conditions, 'RenderDegraded')?.status).toBe('False');
  } finally {
    await end();
  }
});
