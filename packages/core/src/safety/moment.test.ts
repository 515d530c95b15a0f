import { startControlPlane } from '@mcm/control-plane';
import { seededRandom, sleep } from '@mcm/kube';
import { expect, test } from 'vitest';
import { World } from '../deployment/testing/world.ts';

const SEEDS = (process.env.MCM_SEEDS ?? '1,2,3,4,5,6').split(',').map(Number);

async function reported(world: World): Promise<readonly number[]> {
  const events = await world.events();
  const count = (reason: string) =>
    events.filter((event) => event.reason === reason).reduce((sum, event) => sum + (event.count ?? 1), 0);
  return [count('FrozeMachineSet'), count('UnfrozeMachineSet')];
}

test.each(SEEDS)(
  'a short overshoot is reported once at its start and once at its end (seed %i) [F-13]',
  async (seed) => {
    const random = seededRandom(seed);
    const slow = 10 + random.next() * 200;
    await using world = await World.start(startControlPlane, {
      seed,
      birthMs: () => 500,
      deathMs: () => random.next() * 100,
      fault: async (request, answer, clock) => {
        if (request.url.includes('watch=true')) return answer();
        await sleep(clock, random.next() * slow);
        return answer();
      },
    });
    await world.deploy(6, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } } });
    await world.until(() => world.complete(), 60);
    await world.pass(5);
    await world.change({ spec: { replicas: 2 } });
    await world.until(() => world.complete(), 120);
    await world.pass(130);
    expect(await reported(world)).toEqual([1, 1]);
    const [set] = await world.sets();
    expect([set?.metadata.labels?.freeze, set?.status?.machineSetCondition ?? []]).toEqual([undefined, []]);
    expect((await world.deployment()).metadata.labels?.freeze).toBeUndefined();
  },
);
