import type { Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { seededRandom, sleep, type VirtualClock } from '@mcm/kube';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { delayedWatch } from '../testing/delayed-watch.ts';
import { World } from './testing/world.ts';

const LAG_MS = 300;
const LATENCY_MS = 50;
const UNKNOWABLE_MS = 2 * (LAG_MS + LATENCY_MS);

const act = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('scale' as const), which: fc.integer({ min: 2, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('class' as const), which: fc.nat(2) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('fail' as const, 'blink' as const), which: fc.nat(20) }) },
);

const history = fc.record({
  seed: fc.nat(),
  replicas: fc.integer({ min: 2, max: 5 }),
  strategy: fc.constantFrom('RollingUpdate' as const, 'InPlaceUpdate' as const),
  surge: fc.integer({ min: 0, max: 2 }),
  unavailable: fc.integer({ min: 0, max: 2 }),
  acts: fc.array(fc.tuple(act, fc.integer({ min: 5, max: 1_500 })), { minLength: 3, maxLength: 14 }),
});
type History = typeof history extends fc.Arbitrary<infer H> ? H : never;

const going = ({ metadata }: Machine) => metadata.deletionTimestamp !== undefined;
const runs = (machine: Machine) => machine.status?.currentStatus?.phase === 'Running' && !going(machine);

async function live({ seed, replicas, strategy, surge, unavailable, acts }: History): Promise<string[]> {
  const random = seededRandom(seed);
  const late = (most: number, clock: VirtualClock) => sleep(clock, random.next() * most);
  const ms = () => 100 + Math.floor(random.next() * 1_000);
  await using world = await World.start(startControlPlane, {
    seed,
    birthMs: ms,
    deathMs: ms,
    fault: async (request, answer, clock) => {
      if (request.url.includes('watch=true')) return delayedWatch(await answer(), () => late(LAG_MS, clock));
      await late(LATENCY_MS, clock);
      const response = await answer();
      await late(LATENCY_MS, clock);
      return response;
    },
  });
  const atOnce = Math.max(unavailable, surge === 0 ? 1 : 0);
  const limits = { maxSurge: surge, maxUnavailable: atOnce };
  await world.deploy(replicas, {
    strategy:
      strategy === 'RollingUpdate'
        ? { type: strategy, rollingUpdate: limits }
        : { type: strategy, inPlaceUpdate: { ...limits, orchestrationType: 'Auto' } },
  });
  await world.until(() => world.complete(), 120);
  let wanted = replicas;
  let scaledAt = 0;
  let least = replicas;
  const changes: number[] = [];
  const broken: string[] = [];
  world.truth.onChange((change) => {
    if (change.type !== 'updated') return;
    const { old, object } = change;
    const now = world.clock.now().getTime();
    if (runs(old) && !runs(object) && !going(object)) changes.push(now);
    if (!runs(old) || !going(object)) return;
    const left = world.truth.store.list().filter(runs).length;
    const hidden = changes.filter((at) => now - at <= UNKNOWABLE_MS).length;
    const floor = (now - scaledAt <= UNKNOWABLE_MS * 4 ? least : wanted) - atOnce - hidden;
    if (left < floor) broken.push(`${object.metadata.name} was deleted: ${left} are left, ${floor} must be`);
  });
  for (const [{ do: what, which }, pauseMs] of acts) {
    const alive = world.truth.store.list().filter(runs);
    const name = alive[which % Math.max(alive.length, 1)]?.metadata.name;
    if (what === 'scale') {
      least = Math.min(wanted, which);
      wanted = which;
      scaledAt = world.clock.now().getTime();
      await world.change({ spec: { replicas: which } });
    } else if (what === 'class') await world.changeClass(['small', 'large', 'huge'][which] ?? 'small');
    else if (name) {
      await world.setPhase(name, 'Failed');
      // The machine recovers before or shortly after all caches show its failure.
      if (what === 'blink') {
        await world.pass((100 + random.next() * 250) / 1_000);
        const still = world.truth.store.get(`test/${name}`);
        if (still && !going(still)) await world.setPhase(name, 'Running');
      }
    }
    await world.pass(pauseMs / 1_000);
  }
  await world.pass(10);
  return broken;
}

/**
 * The machine recovers before its deletion. The resource version in the delete request protects the recovered machine.
 */
const RECOVERED: History = {
  seed: 1335431204,
  replicas: 4,
  strategy: 'RollingUpdate',
  surge: 1,
  unavailable: 0,
  acts: [
    [{ do: 'fail', which: 4 }, 601],
    [{ do: 'blink', which: 9 }, 1333],
    [{ do: 'blink', which: 15 }, 288],
    [{ do: 'fail', which: 16 }, 907],
    [{ do: 'blink', which: 13 }, 655],
    [{ do: 'fail', which: 8 }, 665],
    [{ do: 'fail', which: 4 }, 617],
    [{ do: 'class', which: 0 }, 894],
    [{ do: 'blink', which: 5 }, 301],
    [{ do: 'fail', which: 5 }, 614],
    [{ do: 'class', which: 2 }, 286],
    [{ do: 'scale', which: 5 }, 871],
  ],
};

const settings = { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? 2), endOnFailure: true };

test(
  'with caches delayed by 300 ms and requests of 50 ms, no running machine is deleted that is needed',
  async () => {
    await fc.assert(
      fc.asyncProperty(history, async (h) => {
        expect(await live(h)).toEqual([]);
      }),
      { ...settings, examples: [[RECOVERED]] },
    );
  },
  60_000 + settings.numRuns * 5_000,
);
