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

test('templates result in owned MachineConfigs, the ControllerConfig completes, and the pool is rendered', () =>
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

test('manual changes of a template MachineConfig are reverted at once, except additional labels [T10] [T9]', () =>
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

test('a ControllerConfig that completes wakes the pools at once, without waiting for a retry [trap 17]', () =>
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

test('a missing pull secret fails the ControllerConfig with a message, and its creation repairs it', () =>
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

test('a KubeletConfig results in a MachineConfig, is Accepted and has a finalizer with its name; its deletion removes it [K1]', () =>
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

test('a forbidden field is named in the condition and results in no MachineConfig, until it is corrected [K5]', () =>
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

test('a KubeletConfig without a pool reports it, and is applied when a pool matches [K33]', () =>
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
  'renderWhilePaused %s: only then a paused pool gets a new target; no node gets it until the pause ends [R31]',
  (renderWhilePaused) =>
    inWorld(
      async ({ client, clock }) => {
        await playDaemons(client);
        const pools = client.resource(machineConfigPools);
        const reported = async () => {
          const target = (await pools.get('worker')).spec?.configuration?.name ?? '';
          const { items } = await client.resource(nodes).list();
          const has = items.filter(({ metadata }) => metadata.annotations?.[NodeAnnotations.DesiredConfig] === target);
          return { target, count: has.length };
        };
        const before = await reported();
        expect(before.count).toBe(1);
        await pools.patch('worker', { type: 'merge', body: { spec: { paused: true } } });
        const spec = { config: configOf('new') };
        await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec });
        await clock.advance(30_000);
        const paused = await reported();
        expect(paused.target !== before.target).toBe(renderWhilePaused);
        expect(await storedConfigs(client)).toContain(paused.target);
        expect(paused.count).toBe(renderWhilePaused ? 0 : 1);
        await playDaemons(client);
        await pools.patch('worker', { type: 'merge', body: { spec: { paused: false } } });
        await clock.advance(10_000);
        const after = await reported();
        expect([after.target !== before.target, after.count]).toEqual([true, 1]);
      },
      { render: { renderWhilePaused } },
    ),
);

test("a user's 999-generated-kubelet-mine and 99-custom-kubelet stay; MachineConfigs of another build are deleted", () =>
  inWorld(async ({ client, clock }) => {
    const resource = client.resource(machineConfigs);
    const other = { other: 'role' };
    for (const name of ['999-generated-kubelet-mine', '99-custom-kubelet', '99-x-generated-kubelet-extra']) {
      await resource.create({ metadata: { name, labels: other, annotations: generatedBy('old') }, spec: {} });
    }
    await resource.create({ metadata: { name: '99-user-generated-kubelet', labels: other }, spec: {} });
    await resource.create({
      metadata: { name: '99-gone-generated-kubelet', labels: other, annotations: generatedBy('old') },
      spec: {},
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
