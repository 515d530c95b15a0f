import { type KubeClient, nodes, secrets } from '@mcm/kube';
import { expect, test } from 'vitest';
import { conditionOf } from './conditions/conditions.ts';
import { ignitionOf } from './config/parsed.ts';
import { NodeAnnotations } from './constants/annotations.ts';
import { CONTROLLER_CONFIG_NAME } from './constants/names.ts';
import { decodeContents } from './ignition/index.ts';
import { controllerConfigs, kubeletConfigs, machineConfigPools, machineConfigs } from './kinds/resources.ts';
import {
  configOf,
  fillWorld,
  generatedBy,
  playDaemons,
  startWorld,
  storedConfigs,
  WORKER_ROLE,
  type World,
  type WorldOptions,
} from './testing.ts';

async function inWorld(work: (world: World) => Promise<void>, options: WorldOptions = {}): Promise<void> {
  const world = await startWorld(options);
  try {
    await fillWorld(world.client);
    await world.clock.advance(20_000);
    await work(world);
  } finally {
    await world.end();
  }
}

const controllerConfig = (client: KubeClient) => client.resource(controllerConfigs).get(CONTROLLER_CONFIG_NAME);

const contentOf = async (client: KubeClient, name: string, path: string): Promise<string> => {
  const config = ignitionOf(await client.resource(machineConfigs).get(name));
  const file = config?.storage?.files?.find((one) => one.path === path);
  return decodeContents(file?.contents?.source, file?.contents?.compression).toString('utf8');
};

const kubeletConfig = (name: string, kubelet: Record<string, unknown>) => ({
  metadata: { name },
  spec: {
    machineConfigPoolSelector: {
      matchLabels: { 'pools.operator.machineconfiguration.openshift.io/worker': '' },
    },
    kubeletConfig: kubelet,
  },
});

test('templates become owned MachineConfigs, the ControllerConfig completes, the pool is rendered', () =>
  inWorld(async ({ client }) => {
    const config = await controllerConfig(client);
    expect(config.metadata.annotations?.['machineconfiguration.openshift.io/generated-by-version']).toBe('v1');
    expect(conditionOf(config.status?.conditions, 'TemplateControllerCompleted')).toMatchObject({ status: 'True' });
    expect(conditionOf(config.status?.conditions, 'TemplateControllerRunning')?.status).toBe('False');
    expect(config.status?.observedGeneration).toBe(config.metadata.generation);
    const made = await client.resource(machineConfigs).get('00-worker');
    expect(made.metadata.ownerReferences).toMatchObject([
      { kind: 'ControllerConfig', controller: true, uid: config.metadata.uid },
    ]);
    const pool = await client.resource(machineConfigPools).get('worker');
    expect(pool.spec?.configuration?.source?.map(({ name }) => name)).toEqual(['00-worker', '01-worker-kubelet']);
  }));

test('T10 T9 what a user writes into a template MachineConfig is undone at once; labels of his own stay', () =>
  inWorld(async ({ client, clock, writes }) => {
    const labels = { ...WORKER_ROLE, mine: 'yes' };
    const body = { metadata: { labels }, spec: { config: { ignition: { version: '3.5.0' } } } };
    await client
      .resource(machineConfigs)
      .patch('00-worker', { type: 'merge', body: { ...body, spec: { config: null } } });
    await clock.advance(1_000);
    expect(await contentOf(client, '00-worker', '/etc/motd')).toBe('10.0.0.10');
    expect((await client.resource(machineConfigs).get('00-worker')).metadata.labels).toEqual(labels);
    await client.resource(machineConfigs).delete('01-worker-kubelet');
    await clock.advance(1_000);
    expect(await storedConfigs(client)).toContain('01-worker-kubelet');
    await clock.advance(30_000);
    writes.length = 0;
    await clock.advance(3_600_000);
    expect(writes).toEqual([]);
  }));

test('trap 17: what closed the gate of rendering wakes the pools when it opens, long before a try by itself', () =>
  inWorld(async ({ client, clock }) => {
    await clock.advance(20_000);
    const target = async () => (await client.resource(machineConfigPools).get('worker')).spec?.configuration?.name;
    const before = await target();
    const body = { spec: { pullSecret: { namespace: 'default', name: 'pull' } } };
    await client.resource(controllerConfigs).patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body });
    const labels = { 'machineconfiguration.openshift.io/role': 'worker' };
    const spec = { kernelArguments: ['trap17'] };
    await client.resource(machineConfigs).create({ metadata: { name: '60-user', labels }, spec });
    await clock.advance(10_000);
    expect(await target()).toBe(before);
    await client.resource(secrets, 'default').create({
      metadata: { name: 'pull', namespace: 'default' },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from('{ "auths": {} }').toString('base64') },
    });
    await clock.advance(8_000);
    expect(await target()).not.toBe(before);
  }));

test('a pull secret that is missing fails the ControllerConfig in words; once it is there all goes on', () =>
  inWorld(async ({ client, clock }) => {
    const pullSecret = { namespace: 'default', name: 'pull' };
    const body = { spec: { pullSecret } };
    await client.resource(controllerConfigs).patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body });
    await clock.advance(1_000);
    const failing = await controllerConfig(client);
    expect(conditionOf(failing.status?.conditions, 'TemplateControllerFailing')).toMatchObject({
      status: 'True',
      message: 'Secret default/pull of spec.pullSecret of ControllerConfig machine-config-controller is not found',
    });
    expect(conditionOf(failing.status?.conditions, 'TemplateControllerCompleted')?.status).toBe('False');
    await client.resource(secrets, 'default').create({
      metadata: { name: 'pull', namespace: 'default' },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from('{ "auths": {} }').toString('base64') },
    });
    await clock.advance(1_000);
    const { status } = await controllerConfig(client);
    expect(conditionOf(status?.conditions, 'TemplateControllerFailing')?.status).toBe('False');
    expect(conditionOf(status?.conditions, 'TemplateControllerCompleted')?.status).toBe('True');
  }));

test('K1 a KubeletConfig becomes a MachineConfig, is Accepted and bears its name as finalizer; deleted it takes it along', () =>
  inWorld(async ({ client, clock, writes }) => {
    await client.resource(kubeletConfigs).create(kubeletConfig('max', { maxPods: 100 }));
    await clock.advance(1_000);
    const name = '99-worker-generated-kubelet';
    expect(await contentOf(client, name, '/etc/kubernetes/kubelet.conf')).toContain('maxPods: 100');
    const config = await client.resource(kubeletConfigs).get('max');
    expect(config.metadata.finalizers).toEqual([name]);
    expect(config.metadata.annotations?.['machineconfiguration.openshift.io/mc-name-suffix']).toBe('');
    expect(conditionOf(config.status?.conditions, 'Accepted')).toMatchObject({ status: 'True', message: 'Success' });
    expect((await client.resource(machineConfigs).get(name)).metadata).toMatchObject({
      labels: WORKER_ROLE,
      ownerReferences: [{ kind: 'KubeletConfig', name: 'max', uid: config.metadata.uid, controller: true }],
    });
    await clock.advance(60_000);
    writes.length = 0;
    await clock.advance(3_600_000);
    expect(writes).toEqual([]);
    await client.resource(kubeletConfigs).delete('max');
    await clock.advance(1_000);
    expect(await storedConfigs(client)).not.toContain(name);
    expect((await client.resource(kubeletConfigs).list()).items).toEqual([]);
  }));

test('K5 a forbidden field is named in the condition and makes no MachineConfig; corrected it is accepted', () =>
  inWorld(async ({ client, clock }) => {
    await client.resource(kubeletConfigs).create(kubeletConfig('dns', { clusterDNS: ['1.2.3.4'] }));
    await clock.advance(10_000);
    const { status } = await client.resource(kubeletConfigs).get('dns');
    expect(conditionOf(status?.conditions, 'Accepted')).toMatchObject({
      status: 'False',
      message: 'Error: KubeletConfiguration: clusterDNS is not allowed to be set, but contains: [1.2.3.4]',
    });
    expect(await storedConfigs(client)).not.toContain('99-worker-generated-kubelet');
    const pool = await client.resource(machineConfigPools).get('worker');
    expect(conditionOf(pool.status?.conditions, 'RenderDegraded')).toMatchObject({
      status: 'True',
      reason: 'ConfigRejected',
    });
    const body = { spec: { kubeletConfig: { clusterDNS: null, maxPods: 10 } } };
    await client.resource(kubeletConfigs).patch('dns', { type: 'merge', body });
    await clock.advance(10_000);
    const mended = await client.resource(kubeletConfigs).get('dns');
    expect(mended.status?.conditions?.at(-1)?.type).toBe('Success');
    expect(await storedConfigs(client)).toContain('99-worker-generated-kubelet');
  }));

test('K33 a KubeletConfig for no pool says so, and is taken up when the pool comes to match', () =>
  inWorld(async ({ client, clock }) => {
    const config = kubeletConfig('late', { maxPods: 10 });
    const machineConfigPoolSelector = { matchLabels: { size: 'big' } };
    await client.resource(kubeletConfigs).create({ ...config, spec: { ...config.spec, machineConfigPoolSelector } });
    await clock.advance(1_000);
    const { status } = await client.resource(kubeletConfigs).get('late');
    expect(conditionOf(status?.conditions, 'Accepted')?.message).toContain('could not find any MachineConfigPool');
    const body = { metadata: { labels: { size: 'big' } } };
    await client.resource(machineConfigPools).patch('worker', { type: 'merge', body });
    await clock.advance(1_000);
    expect(await storedConfigs(client)).toContain('99-worker-generated-kubelet');
  }));

test.each([true, false])(
  'R31 renderWhilePaused %s: only then a paused pool has a new target; no node is told until the pause ends',
  (renderWhilePaused) =>
    inWorld(
      async ({ client, clock }) => {
        await playDaemons(client);
        const pools = client.resource(machineConfigPools);
        const told = async () => {
          const target = (await pools.get('worker')).spec?.configuration?.name ?? '';
          const { items } = await client.resource(nodes).list();
          const has = items.filter(({ metadata }) => metadata.annotations?.[NodeAnnotations.DesiredConfig] === target);
          return { target, count: has.length };
        };
        const before = await told();
        expect(before.count).toBe(1);
        await pools.patch('worker', { type: 'merge', body: { spec: { paused: true } } });
        const spec = { config: configOf('new') };
        await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec });
        await clock.advance(30_000);
        const paused = await told();
        expect(paused.target !== before.target).toBe(renderWhilePaused);
        expect(await storedConfigs(client)).toContain(paused.target);
        expect(paused.count).toBe(renderWhilePaused ? 0 : 1);
        await playDaemons(client);
        await pools.patch('worker', { type: 'merge', body: { spec: { paused: false } } });
        await clock.advance(10_000);
        const after = await told();
        expect([after.target !== before.target, after.count]).toEqual([true, 1]);
      },
      { render: { renderWhilePaused } },
    ),
);

test("a user's 999-generated-kubelet-mine and 99-custom-kubelet stay; what another build left over goes", () =>
  inWorld(async ({ client, clock }) => {
    const resource = client.resource(machineConfigs);
    const other = { other: 'role' };
    for (const name of ['999-generated-kubelet-mine', '99-custom-kubelet', '99-x-generated-kubelet-extra']) {
      await resource.create({ metadata: { name, labels: other, annotations: generatedBy('old') }, spec: {} });
    }
    await resource.create({ metadata: { name: '99-user-generated-kubelet', labels: other }, spec: {} });
    await resource.create({
      ...{ metadata: { name: '99-gone-generated-kubelet', labels: other, annotations: generatedBy('old') }, spec: {} },
    });
    await client.resource(kubeletConfigs).create(kubeletConfig('max', { maxPods: 100 }));
    await clock.advance(5_000);
    const names = await storedConfigs(client);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['999-generated-kubelet-mine', '99-custom-kubelet', '99-x-generated-kubelet-extra'],
        '99-user-generated-kubelet',
      ]),
    );
    expect(names).not.toContain('99-gone-generated-kubelet');
  }));
