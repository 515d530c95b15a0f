import { Annotations, type MachineClass, machineClasses } from '@mcm/api';
import { expect, test } from 'vitest';
import { RestoreVerifier } from './verifiers/restore-verifier.ts';
import { NAMESPACE, World } from './world/world.ts';

/** The restore of a cluster with ten machines to a backup, while machines, nodes and controllers continue to run. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const GREEN = { template: { spec: { class: { name: 'green' } } } };
const MACHINE = { creationTimeout: '5m', healthTimeout: '1m' };

async function inWorld(story: (world: World, verifier: RestoreVerifier) => Promise<void>): Promise<void> {
  const verifier = new RestoreVerifier();
  const world = await World.start({ restorable: true, machine: MACHINE, maxSurge: 2, wrapCloud: verifier.wrap });
  verifier.watch(world);
  try {
    await story(world, verifier);
    expect(world.violations, world.reporter.tell()).toEqual([]);
  } finally {
    await world.close();
  }
}

type Backup = ReturnType<World['backup']>;

/** Restores the cluster, and restarts the kubelets without a Node, as the how-to describes. */
async function restore(world: World, verifier: RestoreVerifier, backup: Backup, bump = 0): Promise<void> {
  await world.restore(backup, bump);
  const known = new Set((await world.machines()).map(({ metadata }) => metadata.name));
  verifier.forgets(world.vms().filter((name) => !known.has(name)));
  await world.clock.advance(1_000);
  world.restartCloud(5_000);
}

async function served(world: World): Promise<string[]> {
  const vms = new Set(world.vms());
  return (await world.machines())
    .filter(({ status, metadata }) => status?.currentStatus?.phase === 'Running' && !metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name)
    .filter((name) => vms.has(name));
}

async function untilServed(world: World, count: number, maxMs: number): Promise<void> {
  await world.until(
    async () => (await served(world)).length === count && (await world.machines()).length === count,
    maxMs,
  );
}

const quarantined = async (world: World, name: string): Promise<readonly string[]> => {
  const { metadata } = await world.admin.resource<MachineClass>(machineClasses, NAMESPACE).get(name);
  return metadata.annotations?.[Annotations.QuarantinedVMs]?.split(',') ?? [];
};

async function annotate(world: World, name: string, annotations: Readonly<Record<string, string>>): Promise<void> {
  const body = { metadata: { annotations } };
  await world.admin.resource<MachineClass>(machineClasses, NAMESPACE).patch(name, { type: 'merge', body });
}

test('after a restore that loses a scale-out, its VMs are kept, and a second scale-out adopts them', async () => {
  await inWorld(async (world, verifier) => {
    await world.createDeployment(6);
    await world.untilSettled(6, 'blue');
    const backup = world.backup();
    await world.change({ replicas: 10 });
    await world.untilSettled(10, 'blue');
    await restore(world, verifier, backup);
    await untilServed(world, 6, MINUTE);
    await world.until(async () => (await quarantined(world, 'blue')).length === 4, 15 * MINUTE);
    await world.clock.advance(2 * MINUTE);
    expect([(await served(world)).length, world.vms().length]).toEqual([6, 10]);
    await world.change({ replicas: 10 });
    await world.untilSettled(10, 'blue', 10 * MINUTE);
    expect(world.vmsMade).toBe(10);
  });
});

test('after a restore that loses a rollout, the former machines are created again, and the new VMs wait for the operator', async () => {
  await inWorld(async (world, verifier) => {
    await world.createDeployment(3);
    await world.untilSettled(3, 'blue');
    const backup = world.backup();
    await world.change(GREEN);
    await world.untilSettled(3, 'green', 2 * HOUR);
    const green = world.vms();
    await restore(world, verifier, backup);
    // All machines become unreachable at the same time, so an operator confirms that they must be replaced.
    const until = new Date(world.clock.now().getTime() + HOUR).toISOString();
    await annotate(world, 'blue', { [Annotations.BreakerOverride]: `${until} their VMs went before the restore` });
    await untilServed(world, 3, HOUR);
    await world.until(async () => (await quarantined(world, 'green')).length === 3, 15 * MINUTE);
    expect(world.vms()).toEqual(expect.arrayContaining(green));
    await annotate(world, 'green', { [Annotations.ReleaseVMs]: (await quarantined(world, 'green')).join(',') });
    await world.until(async () => world.vms().length === 3, HOUR);
    expect(await served(world)).toHaveLength(3);
  });
});

test('after a restore to the middle of a rollout, the rollout adopts its existing VMs', async () => {
  await inWorld(async (world, verifier) => {
    await world.createDeployment(10);
    await world.untilSettled(10, 'blue');
    await world.change(GREEN);
    await world.until(
      async () => (await world.machines()).filter(({ spec }) => spec.class.name === 'green').length > 3,
    );
    const backup = world.backup();
    await world.untilSettled(10, 'green', 2 * HOUR);
    await restore(world, verifier, backup, 1_000_000);
    await world.untilSettled(10, 'green', 4 * HOUR);
  });
});
