import type { Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { World } from './testing/world.ts';

const going = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;

const story = fc.record({
  seed: fc.nat(),
  replicas: fc.integer({ min: 2, max: 6 }),
  maxSurge: fc.constantFrom(0, 1, '50%'),
  maxUnavailable: fc.constantFrom(1, '50%', '100%'),
  comes: fc.nat(3),
  scaledTo: fc.option(fc.integer({ min: 2, max: 8 }), { nil: undefined }),
});

const runs = { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? thoroughly(8, 3)), endOnFailure: true };

test('a rollout whose new machines never run does not delete all machines, even if it is scaled [#10]', async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ seed, replicas, maxSurge, maxUnavailable, comes, scaledTo }) => {
      let fresh = 0;
      await using world = await World.start(startControlPlane, {
        seed,
        birthMs: ({ spec }) => (spec.class.name === 'small' || fresh++ < comes ? 500 : undefined),
        deathMs: () => 700,
      });
      await world.deploy(replicas, {
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
      });
      await world.until(() => world.complete(), 60);
      const least = { alive: replicas, replicas };
      const look = () => {
        const alive = world.truth.store.list().filter((machine) => !going(machine)).length;
        const sets = world.context.sets.store.list();
        least.alive = Math.min(least.alive, alive);
        least.replicas = Math.min(
          least.replicas,
          sets.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0),
        );
      };
      world.truth.onChange(look);
      world.context.sets.onChange(look);
      await world.changeClass('large');
      await world.pass(2);
      if (scaledTo !== undefined) await world.change({ spec: { replicas: scaledTo } });
      await world.pass(600);
      expect(least.replicas).toBeGreaterThan(0);
      // With `maxUnavailable` 100%, a deployment may have no machine for a short time.
      if (maxUnavailable !== '100%') expect(least.alive).toBeGreaterThan(0);
    }),
    runs,
  );
}, 120_000);
