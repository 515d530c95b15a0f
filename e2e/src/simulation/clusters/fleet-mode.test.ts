import { VirtualClock } from '@mcm/kube';
import { expect, test, vi } from 'vitest';
import { maxCallsOf } from '../record/step-limit.ts';
import { again, seedsOf } from '../suites/seeds.testing.ts';
import { playFleet } from './fleet-history.ts';
import { FleetWorld } from './fleet-world.ts';

/** The seeds of histories in which a user deletes a namespace after all replicas that know the cluster have ended. */
const DELETIONS = [15, 25, 113];
const UNPROTECTED = [1_000_013];
/** The seeds of histories in which quiet clusters have longer Leases. */
const QUIET = [4, 8];
/** The seeds of histories with Clusters of Cluster API (7, 14, 26 and 31) and with ClusterProfiles (10). */
const SOURCES = [7, 10, 14, 26, 31];

test.each(seedsOf('fleet-mode', 5, [...DELETIONS, ...UNPROTECTED, ...QUIET, ...SOURCES]))(
  '$suite $seed: each cluster is served in time, and no VM is lost, doubled or undrained',
  async (one) => {
    const { violations, story } = await playFleet(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

test('the clock of a fleet allows the start of all clusters at one instant', async () => {
  const calls = (['now', 'monotonic', 'setTimeout'] as const).map((name) => vi.spyOn(VirtualClock.prototype, name));
  const clusters = 4;
  const world = await FleetWorld.start({
    seed: 1,
    clusters,
    replicas: 3,
    skewMs: [0, 0, 0],
    killPoint: () => undefined,
    restartMs: () => 2_000,
    defect: {},
  });
  await world.clock.settle();
  const count = calls.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  vi.restoreAllMocks();
  await world.close();
  // The history of seed 1500000 has 1000 clusters.
  expect((count / clusters) * 1_000).toBeLessThan(maxCallsOf(1_000) / 2);
});
