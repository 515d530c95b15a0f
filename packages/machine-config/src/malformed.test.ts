import type { KubeObject, ResourceDefinition } from '@mcm/kube';
import { malformations } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { conditionOf } from './conditions/conditions.ts';
import { machineConfigCrds } from './crd/crds.ts';
import {
  containerRuntimeConfigs,
  controllerConfigs,
  kubeletConfigs,
  machineConfigPools,
  machineConfigs,
} from './kinds/resources.ts';
import { configOf, fillWorld, startWorld, TREE, WORKER_ROLE } from './testing.ts';

const OPEN = machineConfigCrds.map(({ spec, ...crd }) => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return { ...crd, spec: { ...spec, versions: spec.versions.map((version) => ({ ...version, schema })) } };
});

const kinds: readonly ResourceDefinition<KubeObject>[] = [
  ...[machineConfigs, machineConfigPools, controllerConfigs, kubeletConfigs, containerRuntimeConfigs],
];

test('objects of all kinds with any field missing, null or of another type keep no other pool from its config', async () => {
  const world = await startWorld({ tree: TREE, crds: OPEN });
  try {
    for (const definition of kinds) {
      const all = [...malformations(definition.shape ?? {})].filter(({ field }) => !field.startsWith('status'));
      // With all invalid values, the test would need a hundred pools with a hundred rollouts, so it uses two values for
      // each field.
      const few = all.filter(
        ({ what, field }, index) =>
          !what.includes('type') || all[index - 1]?.field !== field || all[index - 1]?.what.endsWith('null'),
      );
      const resource = world.client.resource(definition);
      await Promise.all(
        few.map(({ content }, index) => resource.create({ metadata: { name: `bad-${index}` }, ...content } as never)),
      );
    }
    await fillWorld(world.client);
    await world.clock.advance(20_000);
    const target = async () =>
      (await world.client.resource(machineConfigPools).get('worker')).spec?.configuration?.name;
    const first = await target();
    expect(first).toMatch(/^rendered-worker-/);
    const config = configOf('more', '/etc/more');
    await world.client
      .resource(machineConfigs)
      .create({ metadata: { name: '99-more', labels: WORKER_ROLE }, spec: { config } });
    await world.clock.advance(20_000);
    expect(await target()).not.toBe(first);
  } finally {
    await world.end();
  }
});

test('a pool that selects a malformed MachineConfig keeps its last render and names the field', async () => {
  const world = await startWorld({ tree: TREE, crds: OPEN });
  try {
    await fillWorld(world.client);
    await world.clock.advance(20_000);
    const pool = () => world.client.resource(machineConfigPools).get('worker');
    const before = (await pool()).spec?.configuration?.name;
    const spec = { extensions: 'usbguard' };
    await world.client
      .resource(machineConfigs)
      .create({ metadata: { name: '99-bad', labels: WORKER_ROLE }, spec } as never);
    await world.clock.advance(20_000);
    const now = await pool();
    expect(now.spec?.configuration?.name).toBe(before);
    expect(conditionOf(now.status?.conditions, 'RenderDegraded')).toMatchObject({
      status: 'True',
      message: expect.stringMatching(
        /MachineConfig 99-bad: spec\.extensions is a string: a list is needed.*correct spec\.extensions/,
      ),
    });
  } finally {
    await world.end();
  }
});
