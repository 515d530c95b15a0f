import { type Machine, machines } from '@mcm/api';
import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { holdAll, holdNode, Workload } from './world/workload.ts';
import { NAMESPACE, World, type WorldOptions } from './world/world.ts';

const GREEN = { template: { spec: { class: { name: 'green' } } } };

async function inWorld(options: WorldOptions, story: (world: World) => Promise<void>): Promise<void> {
  const world = await World.start(options);
  try {
    await story(world);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await world.close();
  }
}

const describe = (machine: Machine | undefined): string => machine?.status?.lastOperation?.description ?? '';

async function machineOf(world: World, name: string): Promise<Machine | undefined> {
  return (await world.machines()).find(({ metadata }) => metadata.name === name);
}

const isRunning = async (world: World, name: string): Promise<boolean> =>
  (await machineOf(world, name))?.status?.currentStatus?.phase === 'Running';
const isGone = async (world: World, name: string): Promise<boolean> => (await machineOf(world, name)) === undefined;

test('a rollout drains its nodes within the budget', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    const workload = await Workload.create(world, { replicas: 4, minAvailable: 3, readyAfter: '30s' });
    const said = new Set<string>();
    await world.change(GREEN);
    await world.until(async () => {
      for (const machine of await world.machines()) said.add(describe(machine));
      return world.isSettled(2, 'green');
    });
    expect(workload.fewest).toBe(3);
    expect([...said].join('\n')).toContain(`waits for pod disruption budget ${workload.budget}`);
    expect(workload.evictions.length).toBeGreaterThanOrEqual(4);
    await world.until(async () => workload.ready === 4);
    workload.close();
  });
});

test('a budget that blocks a drain is named in the status, and the drain continues as soon as it allows the eviction', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    const workload = await Workload.create(world, { replicas: 4, minAvailable: 4 });
    await world.change(GREEN);
    const blocked = async (): Promise<Machine | undefined> =>
      (await world.machines()).find((machine) => describe(machine).includes(workload.budget));
    await world.until(async () => (await blocked()) !== undefined, 30_000);
    const written = world.writes.length;
    await world.clock.advance(1_800_000);
    expect(workload.evictions).toEqual([]);
    expect(workload.fewest).toBe(4);
    expect(world.writes.slice(written).filter((write) => write.includes(' machines ')).length).toBeLessThanOrEqual(1);
    expect(describe(await blocked())).toContain(`pod disruption budget ${workload.budget}`);
    await workload.allow(2);
    const letGo = world.clock.now().getTime();
    await world.clock.advance(1_000);
    expect((workload.evictions[0] ?? Number.POSITIVE_INFINITY) - letGo).toBeLessThan(1_000);
    // mcm drains and replaces two machines within 30 s.
    expect(await world.untilSettled(2, 'green')).toBeLessThan(30_000);
    expect(workload.fewest).toBeGreaterThanOrEqual(2);
    workload.close();
  });
});

test('pods end within their grace period and become ready on another node before the VM of their machine is deleted', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(1);
    await world.untilSettled(1, 'blue');
    const workload = await Workload.create(world, { replicas: 2, minAvailable: 0 });
    await world.change(GREEN);
    const took = await world.untilSettled(1, 'green');
    expect(took).toBeGreaterThanOrEqual(5_000);
    expect(took).toBeLessThan(15_000);
    await world.until(async () => workload.ready === 2, 30_000);
    expect(workload.nodeNames).toEqual(await world.nodeNames());
    workload.close();
  });
});

/** The time from the deletion of the machine until the user requests the force deletion, in milliseconds. */
test.each([-1_000, 0, 100, 5_000, 60_000, 1_800_000])(
  'force-deletion requested %i ms after the deletion of a machine whose drain a budget blocks',
  async (ms) => {
    await inWorld({}, async (world) => {
      await world.createMachine('forced');
      await world.until(() => isRunning(world, 'forced'));
      await holdNode(world, 'forced');
      await holdAll(world, 1);
      await world.clock.advance(2_000);
      const force = async (): Promise<void> => {
        const body = { metadata: { labels: { 'force-deletion': 'True' } } };
        await world.admin.resource<Machine>(machines, NAMESPACE).patch('forced', { type: 'merge', body });
      };
      if (ms < 0) await force();
      await world.clock.advance(Math.abs(ms));
      await world.deleteMachine('forced');
      if (ms >= 0) {
        await world.clock.advance(ms);
        expect(await isGone(world, 'forced')).toBe(false);
        await force();
      }
      await world.until(() => isGone(world, 'forced'), 3_000);
      expect(world.vms()).toEqual([]);
      expect(await world.nodeNames()).toEqual([]);
    });
  },
);

test.runIf(isThorough)(
  'sixty blocked drains delay neither a creation nor the deletion of an empty machine [#1, #32]',
  async () => {
    await inWorld({}, async (world) => {
      const held = Array.from({ length: 60 }, (_, index) => `held-${index}`);
      for (const name of [...held, 'empty']) await world.createMachine(name);
      await world.until(async () =>
        (await world.machines()).every(({ status }) => status?.currentStatus?.phase === 'Running'),
      );
      for (const name of held) await holdNode(world, name);
      await holdAll(world, held.length);
      await world.clock.advance(2_000);
      for (const name of held) await world.deleteMachine(name);
      await world.clock.advance(60_000);
      const draining = await world.machines();
      expect(draining.filter(({ metadata }) => metadata.deletionTimestamp)).toHaveLength(60);
      expect(draining.filter((machine) => describe(machine).includes(`${NAMESPACE}/held`))).toHaveLength(60);

      await world.deleteMachine('empty');
      await world.createMachine('newborn');
      const both = async (): Promise<boolean> => (await isGone(world, 'empty')) && isRunning(world, 'newborn');
      expect(await world.until(both, 3_000)).toBeLessThan(3_000);
      expect(world.vms()).not.toContain('empty');
      expect((await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp)).toHaveLength(60);
    });
  },
);

test('a drain continues after the machine controller is killed at any time', async () => {
  await inWorld({}, async (world) => {
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    const workload = await Workload.create(world, { replicas: 4, minAvailable: 3, readyAfter: '10s' });
    await world.change(GREEN);
    for (let death = 0; death < 12; death += 1) {
      await world.clock.advance(3_700);
      world.kill('machine-controller');
    }
    await world.untilSettled(2, 'green');
    expect(workload.fewest).toBe(3);
    workload.close();
  });
});
