import { type MachineDeployment, machineDeployments } from '@mcm/api';
import { type ConfigMap, configMaps, LeaseAnnotations } from '@mcm/kube';
import { expect, test } from 'vitest';
import { FleetWorld } from './fleet-world.ts';
import { BUDGET } from './rollout-verifier.ts';

const SECOND = 1_000;

test('the canary cluster rolls out first, and the other clusters wait for its soak time and for a claim', async () => {
  const world = await FleetWorld.start({
    seed: 1,
    clusters: 4,
    replicas: 2,
    skewMs: [0],
    killPoint: () => undefined,
    restartMs: () => 2 * SECOND,
    defect: {},
    budget: { maxClusters: 1, soak: '1m' },
  });
  await world.clock.advance(60 * SECOND);
  expect(await world.mismatch()).toBeUndefined();
  for (const name of world.clusters) await world.change(name, { machineClass: 'green' });
  const done: string[] = [];
  const waited = new Set<string>();
  let soaked = 0;
  for (let look = 0; look < 600 && done.length < world.clusters.length; look += 1) {
    await world.clock.advance(SECOND);
    if (done.length === 1 && done[0] === 'c1') soaked += 1;
    for (const name of world.clusters) {
      const { items } = await world.seedAdmin.resource<MachineDeployment>(machineDeployments, name).list();
      for (const { type, reason = '' } of items[0]?.status?.conditions ?? [])
        if (type === 'RolloutWaiting') waited.add(`${name} ${reason}`);
      const all = await world.machines(name);
      const isGreen = all.every(
        ({ spec, status }) => spec.class.name === 'green' && status?.currentStatus?.phase === 'Running',
      );
      if (isGreen && !done.includes(name)) done.push(name);
    }
  }
  expect([...done].sort()).toEqual(world.clusters);
  expect(done[0]).toBe('c1');
  expect(soaked).toBeGreaterThan(60);
  expect([...waited].sort()).toEqual(['c2 RolloutBudget', 'c3 RolloutBudget', 'c4 RolloutBudget']);
  await world.clock.advance(60 * SECOND);
  const object = await world.seedAdmin.resource<ConfigMap>(configMaps, 'fleet').get(BUDGET);
  expect(JSON.parse(object.metadata.annotations?.[LeaseAnnotations.FleetRollouts] ?? '')).toEqual({
    claims: {},
    canaries: { c1: { state: 'done', since: expect.any(String) } },
  });
  expect(world.rollouts?.verified).toBeGreaterThanOrEqual(8);
  expect(world.reporter.violations).toEqual([]);
  await world.close();
});
