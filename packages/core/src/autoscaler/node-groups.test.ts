import { Annotations, type MachineClass, type MachineDeployment, machineClasses } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createInformer, sleep } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, onTestFinished, test } from 'vitest';
import { NAMESPACE, World, type WorldOptions } from '../deployment/testing/world.ts';
import { NodeGroups } from './node-groups.ts';
import { templateNode } from './template-node.ts';

const ID = `${NAMESPACE}/pool`;
const SIZES = { [Annotations.AutoscalerMinSize]: '1', [Annotations.AutoscalerMaxSize]: '5' };

async function started(
  replicas: number,
  { annotations = SIZES, ...options }: WorldOptions & { annotations?: Record<string, string> } = {},
) {
  const world = await World.start(startControlPlane, options);
  onTestFinished(() => world[Symbol.asyncDispose]());
  await world.deploy(replicas, {}, { annotations });
  await world.until(async () => (await world.machines()).length === replicas, 120);
  await world.pass(5);
  const { deployments, sets, machines, nodes, clock, random, log } = world.context;
  const classes = createInformer<MachineClass>(world.keeper, machineClasses, {
    clock,
    random,
    log,
    namespace: NAMESPACE,
  });
  const groups = new NodeGroups({ deployments, sets, machines, classes, nodes: nodes?.informer }, world.keeper, clock);
  const size = async () => (await world.deployment()).spec.replicas;
  const names = async () => (await world.machines()).map(({ metadata }) => metadata.name).toSorted();
  return { world, groups, size, names };
}

const nodeOf = (name = '') => ({ name, providerID: '' });

async function settled(world: World, requests: readonly Promise<void>[]): Promise<void> {
  let isSettled = false;
  const all = Promise.allSettled(requests).then((results) => {
    isSettled = true;
    return results;
  });
  await world.until(async () => isSettled, 60);
  for (const result of await all) if (result.status === 'rejected') throw result.reason;
}

test('a deployment with two sizes is a node group, and one without them is not', async () => {
  const { groups } = await started(2);
  expect(groups.list()).toEqual([expect.objectContaining({ id: ID, minSize: 1, maxSize: 5 })]);
  expect(groups.targetSize(ID)).toBe(2);
  const other = await started(1, { annotations: {} });
  expect(other.groups.list()).toEqual([]);
  expect(() => other.groups.targetSize(ID)).toThrow(/is not a node group/);
});

test.each([
  ['2', '1'],
  ['-1', '3'],
  ['one', '3'],
])('sizes %s to %s are ignored', async (min, max) => {
  const annotations = { [Annotations.AutoscalerMinSize]: min, [Annotations.AutoscalerMaxSize]: max };
  expect((await started(1, { annotations })).groups.list()).toEqual([]);
});

test('an increase adds machines up to the maximum', async () => {
  const { world, groups, size, names } = await started(2);
  await groups.increase(ID, 3);
  expect(await size()).toBe(5);
  await world.until(async () => (await names()).length === 5, 60);
  await expect(groups.increase(ID, 1)).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
  await expect(groups.increase(ID, 0)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await expect(groups.increase('default/other', 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await size()).toBe(5);
});

test('exactly the named nodes go, in one write, and a repeated request changes nothing', async () => {
  const { world, groups, size, names } = await started(4);
  const before = await names();
  const named = [before[3], before[1]];
  await settled(world, [groups.remove(ID, named.map(nodeOf))]);
  await settled(world, [groups.remove(ID, named.map(nodeOf))]);
  await world.until(async () => (await names()).length === 2, 60);
  await world.pass(60);
  expect([await names(), await size()]).toEqual([[before[0], before[2]], 2]);
});

test('each of many requests at the same time is answered after the manager accepted it', async () => {
  const { world, groups, size, names } = await started(5);
  const before = await names();
  await settled(
    world,
    before.slice(1).map((name) => groups.remove(ID, [nodeOf(name)])),
  );
  expect(await size()).toBe(1);
  await world.until(async () => (await names()).length === 1, 60);
  await world.pass(60);
  expect([await names(), await size(), world.names.size]).toEqual([[before[0]], 1, 5]);
});

const slow =
  (method: string, path: RegExp): NonNullable<WorldOptions['fault']> =>
  async (request, answer, clock) => {
    if (request.method === method && path.test(new URL(request.url).pathname))
      await sleep(clock, 1_000, new AbortController().signal);
    return answer();
  };

test('a repeated request changes nothing while the deletion of the machine is in progress', async () => {
  const { world, groups, size, names } = await started(3, { fault: slow('DELETE', /\/machines\/[^/]+$/) });
  const [first, ...others] = await names();
  await settled(world, [groups.remove(ID, [nodeOf(first)]).then(() => groups.remove(ID, [nodeOf(first)]))]);
  await world.until(async () => (await names()).length === 2, 60);
  await world.pass(60);
  expect([await names(), await size()]).toEqual([others, 2]);
});

test('an increase during a scale-in does not change its outcome', async () => {
  const { world, groups, size, names } = await started(3);
  const before = await names();
  await settled(world, [groups.remove(ID, [nodeOf(before[0])]), groups.increase(ID, 2)]);
  await world.until(async () => (await names()).length === 4, 60);
  expect(await size()).toBe(4);
  expect((await names()).filter((name) => before.includes(name))).toEqual(before.slice(1));
});

test('one request that cannot be met is refused, and the others with it are not', async () => {
  const { world, groups, names } = await started(4);
  const [first, second, third] = await names();
  const refused = [first, 'other', second].map((name) => groups.remove(ID, [nodeOf(name)]));
  await expect(settled(world, refused)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await world.until(async () => (await names()).length === 2, 60);
  expect(await names()).toContain(third);
});

test('while no manager acts, the autoscaler gets an error, and its repetition names the machine once', async () => {
  const { world, groups, size, names } = await started(3);
  const [first] = await names();
  await world.stop();
  await expect(settled(world, [groups.remove(ID, [nodeOf(first)])])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await size()).toBe(2);
  await expect(settled(world, [groups.remove(ID, [nodeOf(first)])])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await size()).toBe(2);
});

test('a removal waits until the manager has applied an increase, because a refusal would undo the increase', async () => {
  const { world, groups, size, names } = await started(3);
  const [first] = await names();
  await world.stop();
  await groups.increase(ID, 1);
  await expect(settled(world, [groups.remove(ID, [nodeOf(first)])])).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: `${ID}: the manager has not applied the size 4 within 4 s`,
  });
  expect(await size()).toBe(4);
});

test('a removal below the minimum, of a foreign node, or in a rollout is refused and changes nothing', async () => {
  const { world, groups, size, names } = await started(2, {
    birthMs: (_machine, index) => (index < 2 ? 100 : undefined),
  });
  const [a, b] = await names();
  await expect(groups.remove(ID, [a, b].map(nodeOf))).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
  await expect(groups.remove(ID, [nodeOf('other')])).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await world.changeClass('large');
  await world.until(async () => (await names()).length === 3, 60);
  await expect(groups.remove(ID, [nodeOf(a)])).rejects.toMatchObject({
    code: 'FAILED_PRECONDITION',
    message: expect.stringContaining('a rollout is in progress'),
  });
  expect(await size()).toBe(2);
});

test('a decrease removes only machines without a Node', async () => {
  const { world, groups, size, names } = await started(2, {
    birthMs: (_machine, index) => (index < 2 ? 100 : undefined),
  });
  const joined = await names();
  await groups.increase(ID, 2);
  await world.until(async () => (await names()).length === 4, 60);
  await world.pass(5);
  expect(
    groups
      .instances(ID)
      .map(({ state }) => state)
      .toSorted(),
  ).toEqual(['creating', 'creating', 'running', 'running']);
  await expect(groups.decrease(ID, -3)).rejects.toMatchObject({ code: 'OUT_OF_RANGE' });
  await groups.decrease(ID, -2);
  await world.until(async () => (await names()).length === 2, 60);
  expect([await names(), await size()]).toEqual([joined, 2]);
});

test('a machine that never got a VM is named by its request, and can be removed by that name', async () => {
  const { world, groups, names } = await started(2, { birthMs: (_machine, index) => (index < 1 ? 100 : undefined) });
  const requested = groups.instances(ID).find(({ id }) => id.startsWith('requested://'));
  await settled(world, [groups.remove(ID, [{ name: requested?.id ?? '', providerID: requested?.id ?? '' }])]);
  await world.until(async () => (await names()).length === 1, 60);
  expect(requested?.id).not.toContain((await names())[0]);
});

test('the group of a node is that of its machine, and a node without a machine has none', async () => {
  const { groups, names } = await started(1);
  expect(groups.groupOfNode(nodeOf((await names())[0]))?.id).toBe(ID);
  expect(groups.groupOfNode(nodeOf('other'))).toBeUndefined();
});

test('a conflict with another client repeats the decision with the new size', async () => {
  const { world, size } = await started(2);
  const resource = world.keeper.resource.bind(world.keeper);
  let raced = false;
  const client = {
    ...world.keeper,
    resource: (...args: Parameters<typeof resource>) => {
      const real = resource(...args);
      return Object.assign(Object.create(real), {
        get: async (name: string) => {
          const object = await real.get(name);
          if (!raced) {
            raced = true;
            await world.change({ spec: { replicas: 3 } });
          }
          return object;
        },
        patch: real.patch.bind(real),
      });
    },
  };
  const { deployments, sets, machines } = world.context;
  const classes = createInformer<MachineClass>(world.keeper, machineClasses, {
    ...world.context,
    namespace: NAMESPACE,
  });
  await new NodeGroups(
    { deployments, sets, machines, classes, nodes: undefined },
    client as never,
    world.context.clock,
  ).increase(ID, 1);
  expect(await size()).toBe(4);
});

test('the template node has the shape of the class and the marks of the deployment', () => {
  const deployment = partial<MachineDeployment>({
    metadata: { name: 'pool' },
    spec: {
      template: {
        spec: {
          class: { name: 'small' },
          nodeTemplate: { metadata: { labels: { team: 'a' } }, spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
        },
      },
    },
  });
  const machineClass = partial<MachineClass>({
    nodeTemplate: {
      capacity: { cpu: 4, gpu: '1', memory: '16Gi' },
      virtualCapacity: { 'example.com/fast': '2' },
      instanceType: 'm5.xlarge',
      region: 'eu',
      zone: 'eu-1',
      architecture: 'arm64',
    },
  });
  const { metadata, spec, status } = templateNode(deployment, machineClass);
  expect(status.allocatable).toEqual({
    cpu: '4',
    memory: '16Gi',
    pods: '110',
    'nvidia.com/gpu': '1',
    'example.com/fast': '2',
  });
  expect(metadata.labels).toMatchObject({
    team: 'a',
    'kubernetes.io/arch': 'arm64',
    'topology.kubernetes.io/zone': 'eu-1',
  });
  expect(spec.taints).toEqual([{ key: 'k', effect: 'NoSchedule' }]);
  expect(() => templateNode(deployment, {} as MachineClass)).toThrow(/has no nodeTemplate/);
});
