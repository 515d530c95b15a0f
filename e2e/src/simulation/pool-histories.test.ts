import { nodes } from '@mcm/kube';
import { NodeAnnotations } from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { ConfigWorld } from './config-world.ts';
import { playPool, TellingJudge } from './pool-history.ts';
import { NAMESPACE } from './world.ts';

/** `MCM_SEEDS=500` plays more; `MCM_SEED=17` plays one. */
const { MCM_SEEDS, MCM_SEED } = process.env;
/** 10 and 14: a new machine took the config of a pool that selects its node, and was never replaced. From 1000 on MCM has work, too. */
const seeds = MCM_SEED
  ? [Number(MCM_SEED)]
  : [...new Set([1, 10, 14, 1_001, ...Array.from({ length: Number(MCM_SEEDS ?? 0) }, (_, index) => index + 1)])];

test.each(seeds)(
  'seed %i: a pool over machines, whatever happens to both halves, heals, is quiet, and never tells too many',
  async (seed) => {
    const { violations, story } = await playPool(seed);
    expect(violations, `MCM_SEED=${seed} plays this again\n${story}`).toEqual([]);
  },
  300_000,
);

test('somebody who tells two nodes of machines at once is seen', async () => {
  const ref = { kind: 'MachineDeployment' as const, namespace: NAMESPACE, name: 'workers' };
  const config = await ConfigWorld.start({ machineRef: ref, maxUnavailable: 1 });
  const { world } = config;
  const stop = new AbortController();
  try {
    new TellingJudge(world, () => 1).watch(stop.signal);
    await world.createDeployment(2);
    await config.untilUpdated(2);
    const body = { metadata: { annotations: { [NodeAnnotations.DesiredConfig]: 'rendered-other' } } };
    for (const { metadata } of await config.nodes()) {
      await world.admin.resource(nodes).patch(metadata.name, { type: 'merge', body });
    }
    await world.clock.advance(100);
    expect(world.violations).toEqual([expect.stringMatching(/is told rendered-other with 2 at once/)]);
  } finally {
    stop.abort();
    await config.close();
  }
}, 300_000);
