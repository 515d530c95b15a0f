import { Labels, type MachineDeployment, machineDeployments, machineSets, machines } from '@mcm/api';
import { deploymentManifest, machineManifest, setManifest } from '@mcm/api/testing';
import { type KubeClient, type KubeObject, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ConfigAnnotations, NodeAnnotations } from './constants/annotations.ts';
import { kubeletConfigs, machineConfigPools, machineConfigs } from './kinds/resources.ts';
import {
  configOf,
  fillWorld,
  generatedBy,
  startWorld,
  storedConfigs,
  WORKER_ROLE,
  type World,
  type WorldOptions,
  type Written,
} from './testing.ts';

/** The API server refuses a request with an outdated version of the object. */

const { DesiredConfig, CurrentConfig, State } = NodeAnnotations;

async function racing(
  matches: (write: Written) => boolean,
  act: (client: KubeClient, write: Written) => Promise<unknown>,
  work: (world: World, raced: () => boolean) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  let user: KubeClient | undefined;
  let raced = false;
  const onWrite = async (write: Written) => {
    if (raced || !user || !matches(write)) return;
    raced = true;
    await act(user, write);
  };
  const world = await startWorld({ ...options, onWrite });
  user = world.client;
  try {
    await work(world, () => raced);
  } finally {
    await world.end();
  }
}

const deletes =
  (prefix: string) =>
  ({ method, path }: Written): boolean =>
    method === 'DELETE' && path.includes(`/machineconfigs/${prefix}`);

const nameIn = ({ path }: Written): string => path.split('/').at(-1) ?? '';

test('a rendered config that a user takes over at the last moment is not deleted', () =>
  racing(
    deletes('rendered-worker-'),
    (client, write) =>
      client
        .resource(machineConfigs)
        .patch(nameIn(write), { type: 'merge', body: { metadata: { ownerReferences: null } } }),
    async ({ client, clock }, raced) => {
      await fillWorld(client, { count: 0 });
      await clock.advance(10_000);
      const [first] = (await storedConfigs(client)).filter((name) => name.startsWith('rendered-'));
      for (const data of ['one', 'two']) {
        const metadata = { name: `50-${data}`, labels: WORKER_ROLE };
        await client.resource(machineConfigs).create({ metadata, spec: { config: configOf(data) } });
        await clock.advance(10_000);
      }
      await clock.advance(60_000);
      expect(raced()).toBe(true);
      expect(await storedConfigs(client)).toContain(first);
    },
    { render: { keepRenders: 0 } },
  ));

test('a generated config that a user replaces at the last moment is not deleted', () => {
  const name = '99-other-generated-kubelet';
  const own = { metadata: { name, labels: WORKER_ROLE }, spec: { config: configOf('mine') } };
  return racing(
    deletes(name),
    async (client) => {
      await client.resource(machineConfigs).delete(name);
      await client.resource(machineConfigs).create(own);
    },
    async ({ client, clock }, raced) => {
      await fillWorld(client, { count: 0 });
      const metadata = { ...own.metadata, annotations: generatedBy('other-build') };
      await client.resource(machineConfigs).create({ ...own, metadata });
      await client.resource(kubeletConfigs).create({
        metadata: { name: 'limits' },
        spec: {
          machineConfigPoolSelector: { matchLabels: { 'pools.operator.machineconfiguration.openshift.io/worker': '' } },
          kubeletConfig: { maxPods: 100 },
        },
      });
      await clock.advance(60_000);
      expect(raced()).toBe(true);
      expect(await storedConfigs(client)).toContain(name);
    },
  );
});

const owned = (manifest: object, { kind = '', metadata: { name, uid } }: KubeObject): never =>
  ({
    ...manifest,
    metadata: {
      ...(manifest as KubeObject).metadata,
      ownerReferences: [{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind, name, uid, controller: true }],
    },
  }) as never;

test('a MachineDeployment that a user changes at the last moment is not rolled out', () => {
  const deployments = (client: KubeClient) => client.resource<MachineDeployment>(machineDeployments, 'default');
  return racing(
    ({ method, path }) => method === 'PATCH' && path.endsWith('/machinedeployments/pool'),
    (client) => {
      const strategy = { type: 'InPlaceUpdate', rollingUpdate: null, inPlaceUpdate: { orchestrationType: 'Auto' } };
      return deployments(client).patch('pool', { type: 'merge', body: { spec: { strategy } } });
    },
    async ({ client, clock }, raced) => {
      const machineRef = { kind: 'MachineDeployment', namespace: 'default', name: 'pool' };
      await fillWorld(client, { count: 0, spec: { nodeSelector: null, machineRef, updateStrategy: 'Replace' } });
      const made = await deployments(client).create(deploymentManifest({ replicas: 1 }) as never);
      const deployment = { ...made, kind: 'MachineDeployment' };
      const set = await client.resource(machineSets, 'default').create(owned(setManifest({ replicas: 1 }), deployment));
      const machine = owned(machineManifest(), { ...set, kind: 'MachineSet' }) as KubeObject;
      machine.metadata.labels = { [Labels.Node]: 'n0' };
      await client.resource(machines, 'default').create(machine as never);
      const annotations = { [CurrentConfig]: 'rendered-old', [DesiredConfig]: 'rendered-old', [State]: 'Done' };
      await client.resource(nodes).create({ metadata: { name: 'n0', annotations }, spec: {} });
      await clock.advance(60_000);
      expect(raced()).toBe(true);
      const { spec } = await deployments(client).get('pool');
      expect(spec.template.metadata?.annotations?.[ConfigAnnotations.TemplateConfig]).toBeUndefined();
      expect((await client.resource(machineConfigPools).get('worker')).status?.machineCount).toBe(1);
    },
    { machines: true },
  );
});
