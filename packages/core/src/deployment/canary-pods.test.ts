import { Annotations, Labels, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { controllerOf, namespaces, type Pod, pods } from '@mcm/kube';
import { expect, test } from 'vitest';
import { reportedCanaryPods } from '../rollout/canary-pods.ts';
import { planRollout } from './plan.ts';
import { rolling } from './testing/transcript.ts';
import { World, type WorldOptions } from './testing/world.ts';

const PODS = {
  [Annotations.RolloutCanary]: '1',
  [Annotations.RolloutCanarySoak]: '10m',
  [Annotations.RolloutCanaryPodsReady]: 'true',
};
const PAUSE = { ...PODS, [Annotations.RolloutPauseOnFailure]: 'true' };
const UNDO = { ...PODS, [Annotations.RolloutUndoOnFailure]: 'true' };
const MINUTE_S = 60;

const canary = async (world: World): Promise<Machine | undefined> =>
  (await world.machines()).find(({ spec }) => spec.class.name === 'large');

interface PodShape {
  readonly ready?: boolean;
  readonly labels?: Record<string, string>;
  readonly phase?: string;
  readonly job?: boolean;
}

async function createPod(
  world: World,
  name: string,
  { ready = false, labels = {}, phase, job }: PodShape,
): Promise<void> {
  const resource = world.keeper.resource<Pod>(pods, 'apps');
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'once', uid: 'job-1', controller: true };
  await resource.create({
    metadata: { name, namespace: 'apps', labels, ...(job ? { ownerReferences: [owner] } : {}) },
    spec: {
      nodeName: (await canary(world))?.metadata.labels?.[Labels.Node] ?? '',
      containers: [{ name: 'a', image: 'a' }],
    },
  });
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  await resource.patch(
    name,
    { type: 'merge', body: { status: { phase: phase ?? 'Running', conditions } } },
    { subresource: 'status' },
  );
}

async function rollingOut(annotations: Record<string, string>, options: WorldOptions = {}): Promise<World> {
  const world = await World.start(startControlPlane, options);
  await world.keeper.resource(namespaces).create({ metadata: { name: 'apps' } });
  await world.deploy(4, rolling(1, 0), { annotations });
  await world.until(() => world.complete(), 60);
  await world.changeClass('large');
  await world.until(async () => (await canary(world))?.status?.currentStatus?.phase === 'Running', 60);
  return world;
}

const isPaused = async (world: World) => (await world.deployment()).spec.paused === true;

test('a canary whose pod is not Ready after the soak time pauses the rollout, although its Node is Ready', async () => {
  await using world = await rollingOut(PAUSE);
  const checks: string[] = [];
  world.context.canaryChecks?.onCheck((check) => checks.push(check));
  await createPod(world, 'web', {});
  await world.pass(9 * MINUTE_S);
  expect([await isPaused(world), await world.sizes()]).toEqual([false, 'large:1 small:3']);
  await world.pass(2 * MINUTE_S);
  expect(checks).toEqual(['NotReady']);
  expect([await isPaused(world), await world.sizes()]).toEqual([true, 'large:1 small:3']);
  const name = (await canary(world))?.metadata.name;
  const said = (await world.events()).filter(({ reason }) => reason === 'RolloutPaused').map(({ message }) => message);
  expect(said).toEqual([
    `mcm paused the rollout, because ${name} failed with the new template. These pods are not Ready: apps/web. Undo the rollout, correct the template, or set spec.paused to false to continue.`,
  ]);
  await world.pass(60 * MINUTE_S);
  await world.change({ spec: { paused: false } });
  await world.until(() => world.complete(), 30 * MINUTE_S);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('a canary whose pod is not Ready undoes the rollout', async () => {
  await using world = await rollingOut(UNDO);
  await createPod(world, 'web', {});
  await world.pass(11 * MINUTE_S);
  await world.until(() => world.complete(), 5 * MINUTE_S);
  expect(await world.sizes()).toBe('large:0 small:4');
});

test.each<[what: string, shape: PodShape]>([
  ['is Ready', { ready: true }],
  ['has ended', { phase: 'Succeeded' }],
  ['belongs to a Job', { job: true }],
  ['has the label that ignores its readiness', { labels: { [Labels.IgnoreReadiness]: 'true' } }],
])('the rollout continues if the pod %s, and reads the pods only once', async (_what, shape) => {
  let reads = 0;
  const fault: WorldOptions['fault'] = async ({ method, url }, answer) => {
    if (method === 'GET' && url.includes('/pods')) reads++;
    return answer();
  };
  await using world = await rollingOut(PAUSE, { fault });
  await createPod(world, 'web', shape);
  await world.pass(9 * MINUTE_S);
  await world.until(() => world.complete(), 5 * MINUTE_S);
  expect([await world.sizes(), reads]).toEqual(['large:4 small:0', 1]);
  const set = (await world.sets()).find(({ spec }) => spec.template.spec.class.name === 'large');
  expect((await world.deployment()).metadata.annotations?.[Annotations.RolloutCanaryPodsSeen]).toBe(set?.metadata.name);
});

test('after a return to the former template, a rollout to the same template checks the pods of its canaries again', async () => {
  await using world = await rollingOut(PAUSE);
  const seen = async () => (await world.deployment()).metadata.annotations?.[Annotations.RolloutCanaryPodsSeen];
  await world.until(async () => (await seen()) !== undefined, 20 * MINUTE_S);
  await world.changeClass('small');
  await world.until(async () => (await world.sizes()) === 'large:0 small:4', 30 * MINUTE_S);
  await world.pass(MINUTE_S);
  expect(await seen()).toBeUndefined();
  await world.changeClass('large');
  await world.until(async () => (await canary(world))?.status?.currentStatus?.phase === 'Running', 60);
  await createPod(world, 'web', {});
  await world.pass(11 * MINUTE_S);
  expect([await isPaused(world), await world.sizes()]).toEqual([true, 'large:1 small:3']);
});

test('a pod that started a moment before the end of the soak time does not count', async () => {
  await using world = await rollingOut(PAUSE);
  await world.pass(9 * MINUTE_S);
  await createPod(world, 'late', {});
  await world.until(() => world.complete(), 5 * MINUTE_S);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('without the annotation, the pods do not matter, and the manager does not read them', async () => {
  const { [Annotations.RolloutCanaryPodsReady]: _ready, ...annotations } = PAUSE;
  const fault: WorldOptions['fault'] = async ({ method, url }, answer) => {
    if (method === 'GET' && url.includes('/pods')) throw new Error('the manager read the pods');
    return answer();
  };
  await using world = await rollingOut(annotations, { fault });
  await createPod(world, 'web', {});
  await world.until(() => world.complete(), 20 * MINUTE_S);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('while the manager cannot read the pods, the rollout waits with the reason, and continues afterwards', async () => {
  let fails = true;
  const fault: WorldOptions['fault'] = async ({ method, url }, answer) => {
    if (fails && method === 'GET' && url.includes('/pods')) throw new Error('connection refused');
    return answer();
  };
  await using world = await rollingOut(PAUSE, { fault });
  await world.pass(20 * MINUTE_S);
  expect([await isPaused(world), await world.sizes()]).toEqual([false, 'large:1 small:3']);
  const waits = (await world.deployment()).status?.conditions?.find(({ type }) => type === 'RolloutWaiting');
  expect(waits?.message).toContain('the manager cannot read the pods of the canaries');
  const [sets, machines] = [await world.sets(), await world.machines()];
  const plan = planRollout({
    deployment: await world.deployment(),
    sets,
    machines: new Map(
      sets.map(({ metadata: { uid } }) => [uid, machines.filter((one) => controllerOf(one)?.uid === uid)]),
    ),
    creating: () => 0,
    canaryPods: reportedCanaryPods(await world.deployment()),
    now: world.clock.now(),
  });
  expect(plan.because).toMatch(/^waiting: the manager cannot read the pods of the canaries: .*connection refused$/);
  fails = false;
  await world.until(() => world.complete(), 5 * MINUTE_S);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('during a pause, the manager reads no pods, and a template with unknown pods gets no machines', async () => {
  await using world = await rollingOut(PAUSE);
  await createPod(world, 'web', {});
  await world.change({ spec: { paused: true } });
  await world.pass(20 * MINUTE_S);
  await world.change({ spec: { replicas: 6 } });
  await world.pass(MINUTE_S);
  expect(await world.sizes()).toBe('large:1 small:6');
});

test.each([
  [
    {
      [Annotations.RolloutCanary]: '1',
      [Annotations.RolloutCanaryPodsReady]: 'true',
      [Annotations.RolloutPauseOnFailure]: 'true',
    },
    'requires rollout.machine.sapcloud.io/canary-soak',
  ],
  [PODS, 'requires rollout.machine.sapcloud.io/pause-on-failure or rollout.machine.sapcloud.io/undo-on-failure'],
  [{ [Annotations.RolloutCanaryPodsReady]: 'yes' }, 'must be "true" or "false"'],
])('invalid annotations %j are refused', async (annotations, message) => {
  await using world = await World.start(startControlPlane);
  await world.deploy(1, {}, { annotations });
  await world.pass(5);
  const condition = (await world.deployment()).status?.conditions?.find(({ type }) => type === 'InvalidSpec');
  expect(condition?.message).toContain(message);
});
