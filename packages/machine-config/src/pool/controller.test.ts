import { Annotations, Labels, machineDeployments, machineSets, machines } from '@mcm/api';
import { deploymentManifest, machineManifest, setManifest } from '@mcm/api/testing';
import { type KubeClient, type KubeObject, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { conditionOf } from '../conditions/conditions.ts';
import { ConfigAnnotations, NodeAnnotations } from '../constants/annotations.ts';
import { CONTROLLER_CONFIG_NAME } from '../constants/names.ts';
import { controllerConfigs, machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import {
  configOf,
  fillWorld,
  playDaemons,
  startWorld,
  WORKER_ROLE,
  type World,
  type WorldOptions,
} from '../testing.ts';

/** The tests cover the events that start a reconcile, and the preconditions of writes. */

const { DesiredConfig, CurrentConfig, State, Reason, ControlPlaneTopology } = NodeAnnotations;
const REF = { kind: 'MachineDeployment', namespace: 'default', name: 'pool' };

async function inWorld(options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> {
  const world = await startWorld(options);
  try {
    await work(world);
  } finally {
    await world.end();
  }
}

const poolNow = (client: KubeClient) => client.resource(machineConfigPools).get('worker');
const nodeNow = (client: KubeClient, name: string) => client.resource(nodes).get(name);
const owned = (manifest: object, { kind = '', metadata: { name, uid } }: KubeObject): never =>
  ({
    ...manifest,
    metadata: {
      ...(manifest as KubeObject).metadata,
      ownerReferences: [{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind, name, uid, controller: true }],
    },
  }) as never;

async function machinePool(client: KubeClient, spec: object = {}): Promise<void> {
  await fillWorld(client, { count: 0, spec: { nodeSelector: null, machineRef: REF, ...spec } });
  const made = await client
    .resource(machineDeployments, 'default')
    .create(deploymentManifest({ replicas: 1 }) as never);
  const deployment = { ...made, kind: 'MachineDeployment' };
  const set = await client.resource(machineSets, 'default').create(owned(setManifest({ replicas: 1 }), deployment));
  const machine = owned(machineManifest(), { ...set, kind: 'MachineSet' }) as KubeObject;
  machine.metadata.labels = { [Labels.Node]: 'n0' };
  await client.resource(machines, 'default').create(machine as never);
  const annotations = { [CurrentConfig]: 'rendered-old', [DesiredConfig]: 'rendered-old', [State]: 'Done' };
  await client.resource(nodes).create({ metadata: { name: 'n0', annotations }, spec: {} });
}

test('a change of the ControllerConfig reaches the nodes of all pools without another event', () =>
  inWorld({}, async ({ client, clock }) => {
    await fillWorld(client, { count: 2, spec: { paused: false } });
    await clock.advance(30_000);
    const body = { spec: { infra: { status: { controlPlaneTopology: 'HighlyAvailable' } } } };
    await client.resource(controllerConfigs).patch(CONTROLLER_CONFIG_NAME, { type: 'merge', body });
    await clock.advance(5_000);
    expect((await nodeNow(client, 'n1')).metadata.annotations?.[ControlPlaneTopology]).toBe('HighlyAvailable');
  }));

test('a taint that a client sets between read and write stays: the write is a conflict and is decided again', () => {
  let user: KubeClient | undefined;
  const taint = { key: 'mine', effect: 'NoSchedule' as const };
  const onWrite = async ({ method, path }: { method: string; path: string }) => {
    if (method !== 'PATCH' || path !== '/api/v1/nodes/n1' || !user) return;
    const client = user;
    user = undefined;
    await client.resource(nodes).patch('n1', { type: 'merge', body: { spec: { taints: [taint] } } });
  };
  return inWorld({ onWrite }, async ({ client, clock }) => {
    user = client;
    await fillWorld(client, { count: 2 });
    await clock.advance(60_000);
    expect(user).toBeUndefined();
    const keys = (await nodeNow(client, 'n1')).spec?.taints?.map(({ key }) => key).toSorted();
    expect(keys).toEqual(['UpdateInProgress', 'mine']);
  });
});

test('the pool reports a missing permission once, with verb, resource and hint, and continues when it is granted', async () => {
  let allowed = false;
  const wire: WorldOptions['wire'] = (transport) => async (request) => {
    if (allowed || request.method !== 'PATCH' || !request.path.startsWith('/api/v1/nodes/')) return transport(request);
    const name = request.path.split('/').at(-1)?.split('?')[0];
    const message = `nodes "${name}" is forbidden: User "x" cannot patch resource "nodes" in API group "" at the cluster scope`;
    const body = { apiVersion: 'v1', kind: 'Status', status: 'Failure', message, reason: 'Forbidden', code: 403 };
    return new Response(JSON.stringify(body), { status: 403 });
  };
  await inWorld({ wire }, async ({ client, clock, plane, writes }) => {
    await fillWorld(client, { count: 3 });
    await clock.advance(60_000);
    const forbidden = async () => conditionOf((await poolNow(client)).status?.conditions, 'WritesForbidden');
    const said = {
      status: 'True',
      reason: 'RoleLacksPermission',
      message:
        'the machine-config-controller has no permission to patch nodes: ' +
        'apply the ClusterRoles of this mcm version (docs/permissions.md)',
    };
    expect(await forbidden()).toMatchObject(said);
    expect((await poolNow(client)).status?.machineCount).toBe(3);
    writes.length = 0;
    await clock.advance(600_000);
    expect(writes).toEqual([]);
    const events = await plane.fetch(new Request('http://plane/api/v1/events'));
    const { items } = (await events.json()) as { items: { reason: string; count?: number }[] };
    expect(items.filter(({ reason }) => reason === 'WritesForbidden')).toHaveLength(1);
    allowed = true;
    await clock.advance(90_000);
    expect((await forbidden())?.status).toBe('False');
    expect((await nodeNow(client, 'n0')).metadata.annotations?.[DesiredConfig]).toMatch(/^rendered-worker-/);
  });
});

const deploymentNow = (client: KubeClient) => client.resource(machineDeployments, 'default').get('pool');

test('the pause of a pool pauses its deployment until it or the pool ends; a deployment that a user paused stays paused [10.4]', () =>
  inWorld({ machines: true }, async ({ client, clock }) => {
    await machinePool(client, { updateStrategy: 'Replace' });
    await clock.advance(30_000);
    const pool = (spec: object) =>
      client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { spec } });
    const pause = (paused: boolean) =>
      client.resource(machineDeployments, 'default').patch('pool', { type: 'merge', body: { spec: { paused } } });
    const isPaused = async () => {
      await clock.advance(10_000);
      const { spec, metadata } = await deploymentNow(client);
      return [spec.paused === true, metadata.annotations?.[ConfigAnnotations.PausedByPool]];
    };
    await pause(true);
    expect(await isPaused()).toEqual([true, undefined]);
    await pool({ paused: true });
    await pool({ paused: false });
    expect(await isPaused()).toEqual([true, undefined]);
    await pause(false);
    await pool({ paused: true });
    expect(await isPaused()).toEqual([true, 'worker']);
    await pool({ paused: false });
    expect(await isPaused()).toEqual([false, undefined]);
    await pool({ paused: true });
    expect(await isPaused()).toEqual([true, 'worker']);
    await pool({ updateStrategy: 'InPlace' });
    expect(await isPaused()).toEqual([false, undefined]);
    await pool({ updateStrategy: 'Replace' });
    expect(await isPaused()).toEqual([true, 'worker']);
    await client.resource(machineConfigPools).delete('worker');
    expect(await isPaused()).toEqual([false, undefined]);
  }));

test('a freeze of a pool stops the replacement of its machines before it begins', () =>
  inWorld({ machines: true }, async ({ client, clock }) => {
    await machinePool(client, { updateStrategy: 'Replace' });
    const freeze = (text: string | null) =>
      client.resource(machineConfigPools).patch('worker', {
        type: 'merge',
        body: { metadata: { annotations: { [Annotations.RolloutFreezes]: text } } },
      });
    const template = async () => (await deploymentNow(client)).spec.template.metadata?.annotations;
    await freeze('2000-01-01T00:00:00Z/2100-01-01T00:00:00Z stock-taking');
    await clock.advance(60_000);
    expect(await template()).toBeUndefined();
    expect(conditionOf((await poolNow(client)).status?.conditions, 'RolloutWaiting')).toMatchObject({
      status: 'True',
      reason: 'InFreeze',
    });
    await freeze(null);
    await clock.advance(60_000);
    expect(await template()).toMatchObject({ [ConfigAnnotations.TemplateConfig]: expect.any(String) });
  }));

test('a new machine whose node has no config yet waits for its first one, and is not replaced [10.4]', () =>
  inWorld({ machines: true }, async ({ client, clock }) => {
    await machinePool(client, { updateStrategy: 'Replace' });
    const none = { [CurrentConfig]: null, [DesiredConfig]: null, [State]: null };
    await client.resource(nodes).patch('n0', { type: 'merge', body: { metadata: { annotations: none } } });
    await clock.advance(30_000);
    const template = (await deploymentNow(client)).spec.template.metadata?.annotations?.[
      ConfigAnnotations.TemplateConfig
    ];
    expect(template).toBeUndefined();
    const other = { [CurrentConfig]: 'rendered-old', [DesiredConfig]: 'rendered-old', [State]: 'Done' };
    await client.resource(nodes).patch('n0', { type: 'merge', body: { metadata: { annotations: other } } });
    await clock.advance(30_000);
    const { spec, status } = await poolNow(client);
    const since = conditionOf(status?.conditions, 'RequiresReplacement')?.lastTransitionTime;
    expect((await deploymentNow(client)).spec.template.metadata?.annotations).toEqual({
      [ConfigAnnotations.TemplateConfig]: spec?.configuration?.name,
      [ConfigAnnotations.TemplateSince]: since,
    });
  }));

test('a rotation of certificates replaces no machine, and its node gets the target in place [10.4]', () =>
  inWorld({ machines: true, render: { keepRenders: 0 } }, async ({ client, clock }) => {
    await machinePool(client, { updateStrategy: 'Replace' });
    const write = (text: string, kernelArguments: readonly string[] = []) =>
      client.resource(machineConfigs).patch('50-user', {
        type: 'merge',
        body: { spec: { config: configOf(text, '/etc/kubernetes/kubelet-ca.crt'), kernelArguments } },
      });
    await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec: {} });
    await write('ca-1');
    await clock.advance(30_000);
    const templateNow = async () => (await deploymentNow(client)).spec.template.metadata?.annotations;
    const first = await templateNow();
    await playDaemons(client);
    const has = async () => {
      const target = (await poolNow(client)).spec?.configuration?.name ?? '';
      const annotations = { [CurrentConfig]: target, [DesiredConfig]: target, [State]: 'Done' };
      await client.resource(nodes).patch('n0', { type: 'merge', body: { metadata: { annotations } } });
      await clock.advance(30_000);
      return target;
    };
    const old = await has();
    for (const text of ['ca-2', 'ca-3']) {
      await write(text);
      await clock.advance(30_000);
      const target = (await poolNow(client)).spec?.configuration?.name;
      expect(target).not.toBe(old);
      expect((await nodeNow(client, 'n0')).metadata.annotations?.[DesiredConfig]).toBe(target);
      await playDaemons(client);
      await clock.advance(60_000);
      expect(await templateNow()).toEqual(first);
    }
    await write('ca-3', ['quiet']);
    await clock.advance(30_000);
    expect(await templateNow()).not.toEqual(first);
  }));

test('machines that were created for a target and updated to another config in place are replaced for the target exactly once [10.4]', () =>
  inWorld({ machines: true }, async ({ client, clock }) => {
    await machinePool(client, { updateStrategy: 'Replace' });
    await clock.advance(30_000);
    const now = async () => JSON.stringify((await deploymentNow(client)).spec.template.metadata?.annotations);
    const target = (await poolNow(client)).spec?.configuration?.name ?? '';
    const has = async (config: string) => {
      const annotations = { [CurrentConfig]: config, [DesiredConfig]: config, [State]: 'Done' };
      await client.resource(nodes).patch('n0', { type: 'merge', body: { metadata: { annotations } } });
      await clock.advance(30_000);
    };
    const first = await now();
    expect(first).toContain(target);
    await has(target);
    expect(await now()).toBe(first);
    await has('rendered-old');
    const second = await now();
    expect(second).toContain(target);
    expect(second).not.toBe(first);
    await clock.advance(600_000);
    expect(await now()).toBe(second);
  }));

test('a node whose daemon cannot apply the target is replaced, even if the MachineConfig on its disk is deleted [10.4]', () =>
  inWorld({ machines: true }, async ({ client, clock }) => {
    await machinePool(client, { updateStrategy: 'InPlaceElseReplace' });
    await clock.advance(30_000);
    const target = (await poolNow(client)).spec?.configuration?.name ?? '';
    const template = async () => (await deploymentNow(client)).spec.template.metadata?.annotations ?? {};
    const says = async (state: string, desired: string) => {
      const annotations = {
        [DesiredConfig]: desired,
        [State]: state,
        [Reason]: 'ignition links section contains changes',
      };
      await client.resource(nodes).patch('n0', { type: 'merge', body: { metadata: { annotations } } });
      await clock.advance(30_000);
    };
    await says('Degraded', target);
    expect(await template()).toEqual({});
    await says('Unreconcilable', target);
    expect((await template())[ConfigAnnotations.TemplateConfig]).toBe(target);
    expect(conditionOf((await poolNow(client)).status?.conditions, 'RequiresReplacement')).toMatchObject({
      status: 'True',
      reason: 'Irreconcilable',
      message: `an in-place update of node n0 to ${target} is not possible, so mcm replaces machines: ignition links section contains changes`,
    });
  }));

test('rollouts of a deployment wait for the configuration of its pool from the first target until the pool is deleted [10.4]', () =>
  inWorld({ machines: true }, async ({ client, clock }) => {
    await machinePool(client, { updateStrategy: 'Replace' });
    const [
      {
        metadata: { name },
      } = { metadata: { name: '' } },
    ] = (await client.resource(machines, 'default').list()).items;
    await client.resource(machines, 'default').patch(name, {
      type: 'merge',
      body: { metadata: { annotations: { [ConfigAnnotations.TemplateConfig]: 'rendered-old' } } },
    });
    const marks = async () => {
      const { metadata } = await deploymentNow(client);
      const machine = await client.resource(machines, 'default').get(name);
      return [
        metadata.annotations?.[ConfigAnnotations.AwaitedByPool],
        machine.metadata.annotations?.[ConfigAnnotations.ConfigApplied],
      ];
    };
    await clock.advance(30_000);
    expect(await marks()).toEqual(['worker', 'true']);
    // A later failure does not remove the annotation, because the machine was already in use.
    const degraded = { [State]: 'Degraded' };
    await client.resource(nodes).patch('n0', { type: 'merge', body: { metadata: { annotations: degraded } } });
    await client
      .resource(machineConfigPools)
      .patch('worker', { type: 'merge', body: { spec: { updateStrategy: 'InPlace' } } });
    await clock.advance(30_000);
    expect(await marks()).toEqual(['worker', 'true']);
    await client.resource(machineConfigPools).delete('worker');
    await clock.advance(30_000);
    expect(await marks()).toEqual([undefined, 'true']);
  }));

test('a change of a frozen MachineSet, in both directions, wakes the pool over its MachineDeployment [10.5]', () =>
  inWorld({ machines: true, render: { renderWhilePaused: true } }, async ({ client, clock }) => {
    await machinePool(client, { paused: true });
    await clock.advance(30_000);
    const freeze = (value: string | null) =>
      client.resource(machineSets, 'default').patch('pool-1', {
        type: 'merge',
        body: { metadata: { labels: { [Labels.Freeze]: value } } },
      });
    await freeze('True');
    await clock.advance(5_000);
    const updating = async () => conditionOf((await poolNow(client)).status?.conditions, 'Updating');
    await client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { spec: { paused: false } } });
    await clock.advance(5_000);
    expect((await updating())?.message).toContain('MachineSet default/pool-1 is frozen');
    expect((await nodeNow(client, 'n0')).metadata.annotations?.[DesiredConfig]).toBe('rendered-old');
    await freeze(null);
    await clock.advance(5_000);
    expect((await nodeNow(client, 'n0')).metadata.annotations?.[DesiredConfig]).toMatch(/^rendered-worker-/);
  }));

test.each(['InPlace', 'Replace'])(
  'a nodeTemplate with keys of machine configs is refused with object, field and hint; %s continues without it [10.4]',
  (updateStrategy) =>
    inWorld({ machines: true }, async ({ client, clock }) => {
      await machinePool(client, { updateStrategy });
      const spec = { config: configOf('two') };
      const resource = client.resource(machineDeployments, 'default');
      const change = (annotations: object) =>
        resource.patch('pool', {
          type: 'merge',
          body: { spec: { template: { spec: { nodeTemplate: { metadata: { annotations } } } } } },
        });
      await change({ [DesiredConfig]: 'rendered-mine', other: 'x' });
      await client.resource(machineConfigs).create({ metadata: { name: '50-user', labels: WORKER_ROLE }, spec });
      await clock.advance(30_000);
      const { status } = await poolNow(client);
      expect(conditionOf(status?.conditions, 'MachineRefResolved')).toMatchObject({
        status: 'False',
        reason: 'Forbidden',
        message:
          'MachineDeployment default/pool sets keys on its nodes that only machine configs may set: ' +
          'metadata.annotations[machineconfiguration.openshift.io/desiredConfig]; remove these keys from spec.template.spec.nodeTemplate',
      });
      expect(conditionOf(status?.conditions, 'Updated')?.status).toBe('False');
      const targeted = async () => [
        (await nodeNow(client, 'n0')).metadata.annotations?.[DesiredConfig],
        (await resource.get('pool')).spec.template.metadata?.annotations?.[ConfigAnnotations.TemplateConfig],
      ];
      expect(await targeted()).toEqual(['rendered-old', undefined]);
      await change({ [DesiredConfig]: null });
      await clock.advance(5_000);
      const target = (await poolNow(client)).spec?.configuration?.name;
      expect(await targeted()).toEqual(updateStrategy === 'Replace' ? ['rendered-old', target] : [target, undefined]);
      expect(conditionOf((await poolNow(client)).status?.conditions, 'MachineRefResolved')?.status).toBe('True');
    }),
);
