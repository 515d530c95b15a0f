import { type Machine, machineClasses, machineDeployments, machineSets, machines, phaseOf } from '@mcm/api';
import { controllerOf, type KubeObject, type ResourceDefinition } from '@mcm/kube';
import { expect } from 'vitest';
import { NAMESPACE, World, type WorldOptions } from '../simulation/world/world.ts';

/**
 * The original ignores the annotations of mcm. For the original, a fleet of mcm is therefore a fleet without these
 * annotations. In these tests, mcm without the annotations represents the original, and takes a fleet back. At the end,
 * the annotations return, because the original keeps them, and mcm takes the fleet over again.
 */

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const REPLICAS = 3;

/** In this time, a controller would find unhealthy machines, machines that do not join, and orphans. */
const QUIET = 40 * MINUTE;

/** The keys of settings and records that the original does not know. */
const OURS = [
  /^(capacity|zones|warm|rollout|autoscaler|orphan)\.machine\.sapcloud\.io\//,
  /(^|\.)hook\.machine\.sapcloud\.io\//,
  /^node\.machine\.sapcloud\.io\/(hooks|hooks-begun|interruption|drift-policy|drain-rules|undrainable-policy|deletion-cause)$/,
];

const KINDS = [machineDeployments, machineSets, machines, machineClasses];

interface Forgotten {
  readonly definition: ResourceDefinition<KubeObject>;
  readonly name: string;
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Removes the annotations from all objects, as if the original read the objects. Returns the removed annotations. */
async function forget({ admin }: World): Promise<readonly Forgotten[]> {
  const forgotten: Forgotten[] = [];
  for (const kind of KINDS) {
    const definition: ResourceDefinition<KubeObject> = kind as never;
    const resource = admin.resource<KubeObject>(definition, NAMESPACE);
    for (const { metadata } of (await resource.list()).items) {
      const all = Object.entries(metadata.annotations ?? {});
      const ours = all.filter(([key]) => OURS.some((own) => own.test(key)));
      if (ours.length === 0) continue;
      const annotations = Object.fromEntries(ours.map(([key]) => [key, null]));
      await resource.patch(metadata.name, { type: 'merge', body: { metadata: { annotations } } });
      forgotten.push({ definition, name: metadata.name, uid: metadata.uid, annotations: Object.fromEntries(ours) });
    }
  }
  return forgotten;
}

/** Writes the annotations to all objects that still exist. */
async function remember({ admin }: World, forgotten: readonly Forgotten[]): Promise<void> {
  for (const { definition, name, uid, annotations } of forgotten) {
    const resource = admin.resource<KubeObject>(definition, NAMESPACE);
    const exists = (await resource.list()).items.some(({ metadata }) => metadata.uid === uid);
    if (exists) await resource.patch(name, { type: 'merge', body: { metadata: { annotations } } });
  }
}

export interface Feature {
  readonly options: WorldOptions;
  /** Adds a fault to the cloud before the first machine exists. */
  readonly before?: (world: World) => void;
  /** Changes the complete fleet, and leaves work for the original. */
  readonly act?: (world: World) => Promise<void>;
  /** Runs when the original has the fleet. */
  readonly during?: (world: World) => Promise<void>;
  /** Runs when mcm has the fleet again, and the fleet is complete. */
  readonly after?: (world: World) => void;
  /** Whether mcm returns before the original has completed its work. */
  readonly isShort?: boolean;
  /** The class of all machines at the end. The default is `blue`. */
  readonly endsWith?: string;
  /** The number of replicas at the end. */
  readonly replicas?: number;
  /** The number of machines that the original may replace. The default is 0. */
  readonly replaced?: number;
  /** The number of VMs that the original may create. The default is the number of replaced machines. */
  readonly creates?: number;
  /** The number of warm machines. */
  readonly warm?: number;
  /** The number of machines that mcm may replace after its return. The default is 0. */
  readonly replacedLater?: number;
}

export const isRunning = (machine: Machine | undefined): boolean =>
  machine !== undefined && phaseOf(machine) === 'Running';

/** Returns the machines that a MachineSet counts. */
const replicasOf = async (world: World): Promise<readonly Machine[]> =>
  (await world.machines()).filter((machine) => controllerOf(machine)?.kind === 'MachineSet');

/** Returns the warm machines, even without their annotations. */
export const warmMachines = async (world: World): Promise<readonly Machine[]> =>
  (await world.machines()).filter((machine) => controllerOf(machine)?.kind === 'MachineDeployment');

/** Waits until each replica runs, and each machine has one VM. The original ignores warm machines. */
export async function untilReplicasRun(world: World, replicas: number, machineClass: string): Promise<void> {
  await world.until(async () => {
    const own = await replicasOf(world);
    const names = (await world.machines()).map(({ metadata }) => metadata.name).sort();
    return (
      own.length === replicas &&
      own.every((machine) => isRunning(machine) && machine.spec.class.name === machineClass) &&
      String(world.vms()) === String(names)
    );
  }, 2 * HOUR);
}

interface Count {
  /** The provider IDs of the machines by UID. */
  readonly machines: ReadonlyMap<string, string | undefined>;
  readonly vms: number;
}

async function countOf(world: World): Promise<Count> {
  const machines = (await world.machines()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return {
    machines: new Map(machines.map(({ metadata, spec }) => [metadata.uid, spec.providerID])),
    vms: world.vmsMade,
  };
}

/** Verifies that a program has replaced and created at most these numbers of machines. */
async function verifyKept(world: World, before: Count, replaced: number, created: number): Promise<void> {
  const now = await countOf(world);
  const isKept = (uid: string, vm: string | undefined): boolean =>
    now.machines.has(uid) && (vm === undefined || vm === now.machines.get(uid));
  const lost = [...before.machines].filter(([uid, vm]) => !isKept(uid, vm));
  expect(lost.length, `${lost} no longer exist`).toBeLessThanOrEqual(replaced);
  expect(now.vms - before.vms).toBeLessThanOrEqual(created);
}

/** Verifies that the controllers write nothing. */
async function verifyQuiet(world: World): Promise<void> {
  const quiet = world.writes.length;
  await world.clock.advance(10 * MINUTE);
  expect(world.writes.slice(quiet)).toEqual([]);
}

function restart(world: World): void {
  for (const name of ['manager', 'machine-controller'] as const) world.kill(name);
}

async function originalRuns(world: World, feature: Feature): Promise<void> {
  const { during, endsWith = 'blue', replicas = REPLICAS, replaced = 0, creates = replaced, warm = 0 } = feature;
  const before = await countOf(world);
  await during?.(world);
  const settle = (maxMs: number): Promise<unknown> =>
    warm > 0 ? untilReplicasRun(world, replicas, endsWith) : world.untilSettled(replicas, endsWith, maxMs);
  if (!feature.isShort) {
    await settle(2 * HOUR);
    await world.clock.advance(QUIET);
    await settle(1);
  }
  await verifyKept(world, before, replaced, creates);
  if (!feature.isShort) await verifyQuiet(world);
}

async function mcmReturns(world: World, feature: Feature): Promise<void> {
  const { endsWith = 'blue', replicas = REPLICAS, replacedLater = 0 } = feature;
  const before = await countOf(world);
  await world.untilSettled(replicas, endsWith, 2 * HOUR);
  feature.after?.(world);
  await world.clock.advance(QUIET);
  await world.untilSettled(replicas, endsWith, 1);
  await verifyKept(world, before, replacedLater, replacedLater);
  await verifyQuiet(world);
}

/**
 * The original takes a fleet back, and mcm takes the fleet over again. No machine may be replaced, lost or doubled, except
 * by the rules of the original.
 */
export async function goAndReturn(feature: Feature): Promise<void> {
  const { options, before, act } = feature;
  const world = await World.start({ maxSurge: 1, ...options });
  try {
    before?.(world);
    await world.createDeployment(REPLICAS);
    await world.untilSettled(REPLICAS, 'blue');
    await act?.(world);
    world.cloud.faults.clear();

    restart(world);
    // Without the annotations, the reporter would count warm machines as replicas.
    for (const { metadata } of await warmMachines(world)) world.reporter.allows(metadata.name);
    const forgotten = await forget(world);
    expect(forgotten.length).toBeGreaterThan(0);
    await originalRuns(world, feature);

    restart(world);
    await remember(world, forgotten);
    await mcmReturns(world, feature);
    expect(world.violations).toEqual([]);
  } finally {
    await world.close();
  }
}
