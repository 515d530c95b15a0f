import { expect, test } from 'vitest';
import { annotationOf, targetOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { configOf } from '../testing.ts';
import { PoolsWorld } from './pools.testing.ts';
import { notRecovered, unnecessaryWrites } from './rest.testing.ts';

/** The rules of rollouts must hold even with an outdated cache. */

test('a node that moved to another pool gets no target of its old pool from an outdated cache', async () => {
  const world = await PoolsWorld.start({ nodes: { worker: 2, infra: 1 }, limit: 2 });
  try {
    const { clock } = world.world;
    world.wire.hold('nodes', clock, 60_000);
    const node = await world.node(0);
    if (node) await world.move(node, 'infra');
    await world.write('worker', configOf('b', '/etc/worker'));
    await clock.advance(50_000);
    expect(world.verifier.problems).toEqual([]);
    await clock.advance(300_000);
    const infra = await world.pool('infra');
    const moved = await world.node(0);
    expect(moved && annotationOf(moved, NodeAnnotations.CurrentConfig)).toBe(infra && targetOf(infra));
    expect([...world.verifier.problems, ...(await unnecessaryWrites(world)), ...(await notRecovered(world))]).toEqual(
      [],
    );
  } finally {
    await world.end();
  }
});
