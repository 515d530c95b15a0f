import { nodes } from '@mcm/kube';
import { NodeAnnotations } from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { ConfigWorld } from './config-world.ts';
import { TellingJudge } from './pool-history.ts';
import { again, seedsOf } from './seeds.testing.ts';
import { playCase } from './suites.ts';
import { NAMESPACE } from './world.ts';

/** 10 and 14: a new machine took the config of a pool that selects its node, and was never replaced. */
const CASES = [...seedsOf('pools', 1, [10, 14]), ...seedsOf('join', 1)];

test.each(CASES)(
  '$suite $seed: a pool over machines, whatever happens to both halves, heals, is quiet, and never tells too many',
  async (one) => {
    const { violations, story } = await playCase(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
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
