import { expect, test } from 'vitest';
import { conditionOf } from '../conditions/conditions.ts';
import { ignitionOf } from '../config/parsed.ts';
import { decodeContents } from '../ignition/index.ts';
import { containerRuntimeConfigs, machineConfigPools, machineConfigs } from '../kinds/resources.ts';
import { fillWorld, generatedBy, startWorld, storedConfigs, WORKER_ROLE, type World } from '../testing.ts';

const TREE = new Map([
  ['worker/00-worker/_base/files/motd.yaml', 'path: /etc/motd\ncontents:\n  inline: hello\n'],
  [
    'worker/01-worker-container-runtime/_base/files/containerd.yaml',
    'path: /etc/containerd/config.toml\ncontents:\n  inline: "level {{ containerRuntime.logLevel }}"\n',
  ],
]);
const NAME = '99-worker-generated-containerruntime';

async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  const world = await startWorld({ tree: TREE });
  try {
    await fillWorld(world.client);
    await world.clock.advance(20_000);
    await work(world);
  } finally {
    await world.end();
  }
}

const configOf = (name: string, containerRuntimeConfig: object, matchLabels: Record<string, string> | undefined) => ({
  metadata: { name },
  spec: { ...(matchLabels && { machineConfigPoolSelector: { matchLabels } }), containerRuntimeConfig },
});
const WORKER = { 'pools.operator.machineconfiguration.openshift.io/worker': '' };

test('a ContainerRuntimeConfig results in a MachineConfig and a new render; its deletion removes them', () =>
  inWorld(async ({ client, clock, writes }) => {
    const resource = client.resource(containerRuntimeConfigs);
    await resource.create(configOf('debug', { logLevel: 'debug' }, WORKER));
    await clock.advance(20_000);
    const made = await client.resource(machineConfigs).get(NAME);
    const file = ignitionOf(made)?.storage?.files?.[0];
    expect(decodeContents(file?.contents?.source, file?.contents?.compression).toString()).toBe('level debug');
    const config = await resource.get('debug');
    expect(made.metadata).toMatchObject({
      labels: WORKER_ROLE,
      ownerReferences: [{ kind: 'ContainerRuntimeConfig', name: 'debug', uid: config.metadata.uid, controller: true }],
    });
    expect(config.metadata.finalizers).toEqual([NAME]);
    expect(config.metadata.annotations?.['machineconfiguration.openshift.io/mc-name-suffix']).toBe('');
    expect(config.status?.conditions).toMatchObject([{ type: 'Success', status: 'True', message: 'Success' }]);
    expect(config.status?.observedGeneration).toBe(config.metadata.generation);
    const pool = await client.resource(machineConfigPools).get('worker');
    expect(pool.spec?.configuration?.source?.map(({ name }) => name)).toContain(NAME);
    await clock.advance(60_000);
    writes.length = 0;
    await clock.advance(3_600_000);
    expect(writes).toEqual([]);
    await resource.delete('debug');
    await clock.advance(1_000);
    expect(await storedConfigs(client)).not.toContain(NAME);
    expect((await resource.list()).items).toEqual([]);
  }));

test('a second ContainerRuntimeConfig of a pool has the next suffix and takes precedence, and MachineConfigs of another build are deleted', () =>
  inWorld(async ({ client, clock }) => {
    const resource = client.resource(machineConfigs);
    const metadata = (name: string) => ({ name, labels: { other: 'role' }, annotations: generatedBy('old') });
    await resource.create({ metadata: metadata('99-gone-generated-containerruntime'), spec: {} });
    await resource.create({ metadata: metadata('99-gone-generated-kubelet'), spec: {} });
    for (const [name, logLevel] of [
      ['first', 'debug'],
      ['second', 'warn'],
    ] as const) {
      await client.resource(containerRuntimeConfigs).create(configOf(name, { logLevel }, WORKER));
      await clock.advance(5_000);
    }
    const names = await storedConfigs(client);
    expect(names).toEqual(expect.arrayContaining([NAME, `${NAME}-1`, '99-gone-generated-kubelet']));
    expect(names).not.toContain('99-gone-generated-containerruntime');
  }));

test('a refused ContainerRuntimeConfig is reported with field and hint in condition, event and pool, and applied when it is corrected', () =>
  inWorld(async ({ client, clock, plane }) => {
    const resource = client.resource(containerRuntimeConfigs);
    await resource.create(configOf('few', { pidsLimit: 5 }, WORKER));
    await clock.advance(20_000);
    const message = 'Error: spec.containerRuntimeConfig.pidsLimit is 5: must be 0 or at least 20';
    expect((await resource.get('few')).status?.conditions).toMatchObject([{ type: 'Failure', message }]);
    const pool = await client.resource(machineConfigPools).get('worker');
    expect(conditionOf(pool.status?.conditions, 'RenderDegraded')).toMatchObject({
      status: 'True',
      reason: 'ConfigRejected',
      message: expect.stringContaining('ContainerRuntimeConfig few was refused'),
    });
    const hint =
      'correct the fields in spec of ContainerRuntimeConfig few, or delete the object; the controller applies no setting of the object';
    expect(await eventsOf(plane, 'ContainerRuntimeConfigRefused')).toEqual([`${message}. To fix the error: ${hint}`]);
    const body = { spec: { containerRuntimeConfig: { pidsLimit: 0, logLevel: 'warn' } } };
    await resource.patch('few', { type: 'merge', body });
    await clock.advance(20_000);
    expect((await resource.get('few')).status?.conditions?.at(-1)?.type).toBe('Success');
    const mended = await client.resource(machineConfigPools).get('worker');
    expect(conditionOf(mended.status?.conditions, 'RenderDegraded')?.status).toBe('False');
  }));

test('a ContainerRuntimeConfig that selects no pool, or has an empty selector, is reported', () =>
  inWorld(async ({ client, clock }) => {
    const resource = client.resource(containerRuntimeConfigs);
    for (const [name, labels] of [
      ['none', { no: 'pool' }],
      ['all', {}],
      ['absent', undefined],
    ] as const) {
      await resource.create(configOf(name, { logLevel: 'warn' }, labels));
      await clock.advance(5_000);
      expect((await resource.get(name)).status?.conditions).toMatchObject([
        {
          type: 'Failure',
          message: `Error: could not find any MachineConfigPool set for ContainerRuntimeConfig ${name}`,
        },
      ]);
    }
    expect(await storedConfigs(client)).not.toContain(NAME);
  }));

async function eventsOf({ fetch }: World['plane'], reason: string): Promise<readonly string[]> {
  const answer = await fetch(new Request('http://api/api/v1/events'));
  const { items } = (await answer.json()) as { items: readonly { reason: string; message: string }[] };
  return items.flatMap((event) => (event.reason === reason ? [event.message] : []));
}
