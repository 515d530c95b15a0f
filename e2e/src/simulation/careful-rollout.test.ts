import { Annotations, Labels } from '@mcm/api';
import { type EventObject, events, type Pod, pods } from '@mcm/kube';
import { isThorough } from '@mcm/kube/testing';
import { PodAnnotations } from '@mcm/provider-local';
import { expect, test } from 'vitest';
import { NAMESPACE, World, type WorldOptions } from './world/world.ts';

/** Tests canaries, pauses between batches, and the pause after a failure with the whole system. */

const MINUTE = 60_000;

async function inWorld(options: WorldOptions, story: (world: World) => Promise<void>): Promise<void> {
  const world = await World.start(options);
  try {
    await story(world);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await world.close();
  }
}

const roll = (world: World) => world.change({ template: { spec: { class: { name: 'green' } } } });

const green = async (world: World): Promise<number> =>
  (await world.machines()).filter(({ spec }) => spec.class?.name === 'green').length;

const running = async (world: World): Promise<number> =>
  (await world.machines()).filter(({ status }) => status?.currentStatus?.phase === 'Running').length;

const canaries = {
  [Annotations.RolloutCanary]: '25%',
  [Annotations.RolloutCanarySoak]: '10m',
};

test.each([
  [2, 0],
  [0, 3],
])(
  'surge %i, unavailable %i: two of eight machines are canaries for the soak time, and then the others follow',
  async (maxSurge, maxUnavailable) => {
    await inWorld({ annotations: canaries, maxSurge, maxUnavailable }, async (world) => {
      await world.createDeployment(8);
      await world.untilSettled(8, 'blue');
      await roll(world);
      await world.until(async () => (await green(world)) === 2);
      await world.clock.advance(9 * MINUTE);
      // During the soak time of the canaries, all machines are available.
      expect([await green(world), await running(world)]).toEqual([2, 8]);
      const quiet = world.writes.length;
      await world.clock.advance(30_000);
      expect(world.writes.slice(quiet)).toEqual([]);
      const took = await world.untilSettled(8, 'green');
      expect(took).toBeLessThan(2 * MINUTE);
    });
  },
);

test('a manager that is killed during the soak time does not start it again', async () => {
  await inWorld({ annotations: canaries, maxSurge: 2 }, async (world) => {
    await world.createDeployment(8);
    await world.untilSettled(8, 'blue');
    await roll(world);
    await world.clock.advance(8 * MINUTE);
    world.kill('manager');
    await world.clock.advance(MINUTE);
    expect(await green(world)).toBe(2);
    expect(await world.untilSettled(8, 'green')).toBeLessThan(2 * MINUTE);
  });
});

test.runIf(isThorough)('all new machines have a soak time between batches', async () => {
  const annotations = { [Annotations.RolloutBatchPause]: '5m' };
  await inWorld({ annotations, maxSurge: 1 }, async (world) => {
    await world.createDeployment(4);
    await world.untilSettled(4, 'blue');
    await roll(world);
    const took = await world.untilSettled(4, 'green');
    expect(took).toBeGreaterThanOrEqual(15 * MINUTE);
    expect(took).toBeLessThan(17 * MINUTE);
  });
});

test.runIf(isThorough)('an in-place update has canaries too', async () => {
  await inWorld({ annotations: canaries, inPlace: 'Auto', maxSurge: 0, maxUnavailable: 2 }, async (world) => {
    await world.createDeployment(8);
    await world.untilSettled(8, 'blue');
    const before = world.vms();
    await roll(world);
    await world.clock.advance(9 * MINUTE);
    expect((await world.deployment()).status?.updatedReplicas).toBe(2);
    await world.until(async () => {
      const { status } = await world.deployment();
      return status?.updatedReplicas === 8 && status.availableReplicas === 8;
    }, 5 * MINUTE);
    expect(world.vms()).toEqual(before);
  });
});

test('a failed new machine pauses the rollout once, and the user decides when it continues', async () => {
  const annotations = { [Annotations.RolloutPauseOnFailure]: 'true' };
  await inWorld({ annotations, machine: { creationTimeout: '5m' } }, async (world) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    world.cloud.faults.order({ operation: 'instances.boot', kubelet: { join: 'never' }, count: 1 });
    await roll(world);
    await world.until(async () => (await world.deployment()).spec.paused === true, 20 * MINUTE);
    await world.clock.advance(10_000);
    const { status, metadata } = await world.deployment();
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'RolloutBlocked', status: 'True', reason: 'PausedOnFailure' }),
    );
    expect(metadata.annotations?.[Annotations.RolloutPausedBy]).toContain('~');
    const reported = (await world.admin.resource<EventObject>(events, NAMESPACE).list()).items;
    expect(reported.filter(({ reason }) => reason === 'RolloutPaused')).toHaveLength(1);
    await world.change({ paused: false });
    await world.untilSettled(3, 'green');
    await world.clock.advance(10_000);
    const after = await world.deployment();
    expect(after.spec.paused).toBe(false);
    expect(after.metadata.annotations?.[Annotations.RolloutPausedBy]).toBeUndefined();
    expect(after.status?.conditions?.map(({ type }) => type as string)).not.toContain('RolloutBlocked');
  });
});

test('an invalid annotation is reported on the deployment, and starts no rollout', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    await world.annotate({ [Annotations.RolloutCanary]: 'some' });
    await roll(world);
    await world.clock.advance(MINUTE);
    const { status } = await world.deployment();
    const said = status?.conditions?.find(({ type }) => (type as string) === 'InvalidSpec');
    expect(said?.message).toContain(`metadata.annotations[${Annotations.RolloutCanary}]`);
    expect(await green(world)).toBe(0);
    await world.annotate({ [Annotations.RolloutCanary]: null });
    await world.untilSettled(2, 'green');
  });
});

test.each([
  ['60m', 1],
  ['1s', 4],
])('pods that need %s to become Ready leave %i machines of the new template', async (readyAfter, wanted) => {
  const annotations = {
    [Annotations.RolloutCanary]: '1',
    [Annotations.RolloutCanarySoak]: '10m',
    [Annotations.RolloutCanaryPodsReady]: 'true',
    [Annotations.RolloutPauseOnFailure]: 'true',
  };
  await inWorld({ annotations, maxSurge: 1 }, async (world) => {
    await world.createDeployment(4);
    await world.untilSettled(4, 'blue');
    await roll(world);
    const canaryNode = async (): Promise<string | undefined> =>
      (await world.machines()).find(
        ({ spec, status }) => spec.class?.name === 'green' && status?.currentStatus?.phase === 'Running',
      )?.metadata.labels?.[Labels.Node];
    await world.until(async () => (await canaryNode()) !== undefined);
    await world.admin.resource<Pod>(pods, NAMESPACE).create({
      metadata: { name: 'probe', namespace: NAMESPACE, annotations: { [PodAnnotations.ReadyAfter]: readyAfter } },
      spec: { nodeName: (await canaryNode()) ?? '', containers: [{ name: 'main', image: 'pause' }] },
    });
    await world.clock.advance(20 * MINUTE);
    expect(await green(world)).toBe(wanted);
    expect((await world.deployment()).spec.paused === true).toBe(wanted === 1);
  });
});
