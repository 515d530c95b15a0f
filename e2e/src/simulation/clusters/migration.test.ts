import { thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { FleetWorld } from './fleet-world.ts';
import { PROGRAMS } from './replica.ts';
import type { SinglePod } from './single-pod.ts';

const CLUSTERS = thoroughly(12, 3, 50);
const OVERLAP_MS = 3_000;
const SETTLE_MS = 180_000;
const LOOK_MS = 10_000;

class Migration {
  readonly world: FleetWorld;
  readonly #pods = new Map<string, readonly SinglePod[]>();

  private constructor(world: FleetWorld) {
    this.world = world;
  }

  static async start(): Promise<Migration> {
    const world = await FleetWorld.start({
      seed: 1,
      clusters: CLUSTERS,
      replicas: 1,
      skewMs: [0],
      killPoint: () => undefined,
      restartMs: () => 2_000,
      defect: {},
    });
    for (const cluster of world.clusters) world.separate.add(cluster);
    return new Migration(world);
  }

  /** Starts the pods of a cluster, and then removes the cluster from the fleet. */
  async toPods(cluster: string): Promise<void> {
    this.#pods.set(
      cluster,
      PROGRAMS.map((name) => this.world.single(name, cluster)),
    );
    await this.world.clock.advance(OVERLAP_MS);
    await this.world.join(cluster, false);
  }

  /** Adds a cluster to the fleet, and then stops the pods of the cluster. */
  async toFleet(cluster: string): Promise<void> {
    await this.world.join(cluster, true);
    await this.world.clock.advance(OVERLAP_MS);
    const stopped = Promise.all((this.#pods.get(cluster) ?? []).map((pod) => pod.stop()));
    await this.world.clock.ended(stopped, { maxMs: 60_000 });
    this.#pods.delete(cluster);
  }

  async during(machineClass: string, move: (cluster: string) => Promise<void>): Promise<void> {
    const { world } = this;
    for (const cluster of world.clusters) {
      await world.change(cluster, { machineClass });
      await move(cluster);
    }
    await this.settled();
  }

  async settled(): Promise<void> {
    let problem: string | undefined = '';
    for (let ms = 0; ms < SETTLE_MS && problem !== undefined; ms += LOOK_MS) {
      await this.world.clock.advance(LOOK_MS);
      problem = await this.world.mismatch();
    }
    expect(problem).toBeUndefined();
  }

  holders(): readonly string[] {
    const { world } = this;
    return world.clusters.flatMap((cluster) => PROGRAMS.map((name) => world.fences.holder(cluster, name)));
  }
}

test(`${CLUSTERS} clusters move to the fleet and back during rollouts, and no move replaces a VM`, async () => {
  const migration = await Migration.start();
  const { world } = migration;
  for (const cluster of world.clusters) await migration.toPods(cluster);
  await migration.settled();
  const made = world.everMade();
  expect(migration.holders().every((holder) => holder.includes('-of-'))).toBe(true);
  await migration.during('green', (cluster) => migration.toFleet(cluster));
  expect(migration.holders().every((holder) => holder.includes('-life'))).toBe(true);
  expect(world.everMade()).toBe(made + CLUSTERS);
  await migration.during('blue', (cluster) => migration.toPods(cluster));
  expect(migration.holders().every((holder) => holder.includes('-of-'))).toBe(true);
  // Each cluster has one machine, so each of the two rollouts creates one VM for each cluster.
  expect(world.everMade()).toBe(made + 2 * CLUSTERS);
  expect(world.reporter.violations).toEqual([]);
  await world.close();
});
