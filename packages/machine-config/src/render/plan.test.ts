import { gzipSync } from 'node:zlib';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { KubeletConfig } from '../kinds/kubelet-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { planRender, type RenderSnapshot } from './plan.ts';

const ROLE = { 'machineconfiguration.openshift.io/role': 'worker' };
const withFile = (name: string, data: string): MachineConfig =>
  partial<MachineConfig>({
    metadata: { name, labels: ROLE },
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path: '/etc/a', contents: { source: `data:,${data}` } }] },
      },
    },
  });

const poolAt = (target: string | undefined, uid = 'u'): MachineConfigPool =>
  partial<MachineConfigPool>({
    metadata: { name: 'worker', uid, labels: { p: 'w' } },
    spec: { machineConfigSelector: { matchLabels: ROLE }, ...(target && { configuration: { name: target } }) },
    status: { conditions: [{ type: 'RenderDegraded', status: 'False' }] },
  });

const CONTROLLER_CONFIG = partial<NonNullable<RenderSnapshot['controllerConfig']>>({
  metadata: { generation: 1, annotations: { 'machineconfiguration.openshift.io/generated-by-version': 'v1' } },
  spec: {},
  status: { observedGeneration: 1, conditions: [{ type: 'TemplateControllerCompleted', status: 'True' }] },
});

const look = (
  pool: MachineConfigPool,
  configs: readonly MachineConfig[],
  stored: readonly MachineConfig[] = [],
  more: Partial<RenderSnapshot> = {},
) =>
  planRender({
    pool,
    configs,
    controllerConfig: CONTROLLER_CONFIG,
    kubeletConfigs: [],
    containerRuntimeConfigs: [],
    machineConfig: (name) => stored.find(({ metadata }) => metadata.name === name),
    identity: { version: 'v1', hash: 'h' },
    ...more,
  });

const made = (pool: MachineConfigPool, config: MachineConfig): MachineConfig => {
  const { create } = look(pool, [config]);
  if (!create) throw new Error('the controller renders no configuration');
  return create;
};

test('an old render that a client changed is restored when it becomes the target again, before a node gets it', () => {
  const pool = poolAt('rendered-worker-other');
  const old = made(pool, withFile('a', 'x'));
  const changed = { ...old, spec: { ...old.spec, kernelArguments: ['mine'] } } as MachineConfig;
  const plan = look(pool, [withFile('a', 'x')], [changed]);
  expect(plan.configuration?.name).toBe(old.metadata.name);
  expect(plan.update?.spec).toEqual(old.spec);
  expect(look(pool, [withFile('a', 'x')], [old]).update).toBeUndefined();
});

test('a pool that is created again becomes the owner of the renders of the deleted one, which would be deleted otherwise', () => {
  const before = made(poolAt(undefined, 'gone'), withFile('a', 'x'));
  const plan = look(poolAt(undefined, 'new'), [withFile('a', 'x')], [before]);
  expect(plan.create).toBeUndefined();
  expect(plan.update?.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(['new']);
});

const refused = partial<KubeletConfig>({
  metadata: { name: 'k', generation: 1 },
  spec: { machineConfigPoolSelector: { matchLabels: { p: 'w' } } },
  status: { observedGeneration: 1, conditions: [{ type: 'Accepted', status: 'False', message: 'Error: x' }] },
});

test('a refused KubeletConfig degrades its pools with a message, and the other settings are rendered [trap 4] [R30]', () => {
  const plan = look(poolAt(undefined), [withFile('a', 'x')], [], { kubeletConfigs: [refused] });
  expect(plan.configuration?.name).toMatch(/^rendered-worker-/);
  expect(plan.condition).toEqual({
    type: 'RenderDegraded',
    status: 'True',
    reason: 'ConfigRejected',
    message: expect.stringContaining('Rendered without invalid objects: KubeletConfig k was refused: Error: x'),
  });
});

test('a child without a source that removes the parent’s compression is refused, with file and hint [trap 5]', () => {
  const parent = withFile('a', 'x');
  const file = {
    path: '/etc/a',
    contents: { source: `data:;base64,${gzipSync('x').toString('base64')}`, compression: 'gzip' },
  };
  const bare = (files: readonly object[], name: string) =>
    partial<MachineConfig>({
      ...parent,
      metadata: { ...parent.metadata, name },
      spec: { config: { ignition: { version: '3.5.0' }, storage: { files } } },
    });
  const plan = look(poolAt(undefined), [bare([file], 'a'), bare([{ path: '/etc/a', mode: 420 }], 'b')]);
  expect(plan.create).toBeUndefined();
  expect(plan.condition).toMatchObject({ status: 'True', message: expect.stringContaining('/etc/a') });
});

test('a paused pool is not rendered, unless an option of the controller requires it', () => {
  const pool = poolAt('rendered-worker-other');
  const paused = { ...pool, spec: { ...pool.spec, paused: true } } as MachineConfigPool;
  expect(look(paused, [withFile('a', 'x')])).toEqual({ events: [] });
  const { configuration } = look(paused, [withFile('a', 'x')], [], { renderWhilePaused: true });
  expect(configuration?.name).toMatch(/^rendered-worker-/);
});

test('a render that is too large fails with the message of the original', () => {
  const huge = withFile('a', 'x'.repeat(1_600_000));
  expect(look(poolAt(undefined), [huge]).error).toMatch(
    /^size validation failed: rendered MachineConfig \S+ is too large \(\d+ bytes, max 1572864 bytes\)/,
  );
});
