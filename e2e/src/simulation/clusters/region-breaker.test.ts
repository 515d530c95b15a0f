import { Annotations } from '@mcm/api';
import { type EventObject, events } from '@mcm/kube';
import { expect, test } from 'vitest';
import { FleetWorld } from './fleet-world.ts';

const MINUTE = 60_000;

test('no machine of a region is replaced while most of its clusters do not answer', async () => {
  const world = await FleetWorld.start({
    seed: 1,
    clusters: 4,
    replicas: 1,
    skewMs: [0],
    killPoint: () => undefined,
    restartMs: () => MINUTE,
    defect: {},
    healthTimeout: '1m',
  });
  await world.clock.advance(MINUTE);
  expect(await world.mismatch()).toBeUndefined();
  const [before] = await world.machines('c1');
  const others = ['c2', 'c3', 'c4'];
  for (const name of others) world.wires.hang(name, true);
  world.silence('c1');
  await world.clock.advance(4 * MINUTE);
  expect((await world.machines('c1')).map(({ metadata }) => metadata.uid)).toEqual([before?.metadata.uid]);
  const { items } = await world.seedAdmin.resource<EventObject>(events, 'c1').list();
  const held = items.filter(({ reason }) => reason === 'ReplacementHeld').map(({ message }) => message);
  expect(held).toEqual([expect.stringMatching(/^.*3 of 4 clusters of the fleet became unreachable/)]);
  expect(held[0]).toContain(Annotations.BreakerOverride);
  for (const name of others) world.wires.hang(name, false);
  await world.clock.advance(4 * MINUTE);
  expect((await world.machines('c1')).map(({ metadata }) => metadata.uid)).not.toContain(before?.metadata.uid);
  expect(world.reporter.violations).toEqual([]);
  await world.close();
});
