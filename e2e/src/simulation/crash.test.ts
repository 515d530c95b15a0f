import type { KillPoint } from '@mcm/conformance/fleet';
import { thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { type ProcessName, World } from './world/world.ts';

/** Creates machines, replaces them with a rolling update, and deletes them. */
async function life(killPoints: Partial<Record<ProcessName, KillPoint>>, seed: number): Promise<World> {
  const world = await World.start({ killPoints, seed });
  await world.createDeployment(2);
  await world.untilSettled(2, 'blue');
  await world.change({ template: { spec: { class: { name: 'green' } } } });
  await world.untilSettled(2, 'green');
  await world.change({ replicas: 0 });
  await world.untilSettled(0, 'green');
  return world;
}

test('a fleet is created, rolled out and deleted, and then nothing is written', async () => {
  const world = await life({}, 1);
  expect(world.violations).toEqual([]);
  await world.clock.advance(10_000);
  const written = world.writes.length;
  await world.clock.advance(600_000);
  expect(world.writes.slice(written)).toEqual([]);
  await world.close();
});

const STEP = thoroughly(7, 20, 1);

test.each<ProcessName>(['machine-controller', 'manager'])(
  '%s is killed at any await of creation and deletion: the same fleet, no second VM, no left-over VM',
  { timeout: 600_000 },
  async (name) => {
    const calm = await life({}, 1);
    const requests = calm.requests(name);
    await calm.close();
    expect(requests).toBeGreaterThan(20);
    for (let request = 1; request <= requests; request += STEP) {
      for (const when of ['before', 'after'] as const) {
        const world = await life({ [name]: { request, when } }, request);
        expect(world.violations, `${name} killed ${when} request ${request}`).toEqual([]);
        await world.close();
      }
    }
  },
);
