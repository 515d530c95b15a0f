import type { Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { controllerOf, type Random, seededRandom, sleep, type VirtualClock } from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { replayed, testJournal } from '../replay/testing.ts';
import { delayedWatch } from '../testing/delayed-watch.ts';
import { PauseVerifier } from './testing/pause-verifier.ts';
import { World } from './testing/world.ts';

interface Faults {
  readonly lost: number;
  readonly staleMs: number;
}

const faulty = (random: Random, { lost, staleMs }: Faults) =>
  async function fault(request: Request, answer: () => Promise<Response>, clock: VirtualClock): Promise<Response> {
    if (request.url.includes('watch=true'))
      return delayedWatch(await answer(), () => sleep(clock, random.next() * staleMs));
    if (request.method === 'GET') return answer();
    await sleep(clock, random.next() * 50);
    const luck = random.next();
    if (luck < lost / 2) throw new TypeError('connection refused');
    const response = await answer();
    if (luck < lost) throw new TypeError('connection reset');
    return response;
  };

type Act =
  | { readonly do: 'scale'; readonly replicas: number }
  | { readonly do: 'class'; readonly name: string }
  | { readonly do: 'pause'; readonly paused: boolean }
  | { readonly do: 'kill' }
  | { readonly do: 'fail' | 'delete'; readonly which: number };

const gentle = fc.oneof(
  fc.record({ do: fc.constant('scale' as const), replicas: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ do: fc.constant('class' as const), name: fc.constantFrom('small', 'large', 'huge') }),
  fc.record({ do: fc.constant('kill' as const) }),
);
const rough = fc.oneof(
  gentle,
  fc.record({ do: fc.constant('pause' as const), paused: fc.boolean() }),
  fc.record({ do: fc.constantFrom('fail' as const, 'delete' as const), which: fc.nat(20) }),
);

const history = (acts: fc.Arbitrary<Act>) =>
  fc.record({
    seed: fc.nat(),
    surge: fc.integer({ min: 0, max: 3 }),
    unavailable: fc.integer({ min: 0, max: 2 }),
    faults: fc.record({ lost: fc.constantFrom(0, 0.1, 0.3), staleMs: fc.constantFrom(0, 300, 2_000) }),
    acts: fc.array(fc.tuple(acts, fc.integer({ min: 10, max: 5_000 })), { maxLength: 8 }),
  });
type History = typeof history extends (acts: never) => fc.Arbitrary<infer H> ? H : never;

const terminating = (machine: Machine) => machine.metadata.deletionTimestamp !== undefined;
const running = (machine: Machine) => machine.status?.currentStatus?.phase === 'Running' && !terminating(machine);

/** Keeps each request of the user until every cache is newer than the request. */
class Wishes {
  static readonly memoryMs = 15_000;
  readonly #said: { at: number; replicas: number }[] = [];
  say(at: Date, replicas: number): void {
    this.#said.push({ at: at.getTime(), replicas });
  }
  #recent(now: Date): number[] {
    const since = now.getTime() - Wishes.memoryMs;
    const first = Math.max(
      0,
      this.#said.findLastIndex(({ at }) => at <= since),
    );
    return this.#said.slice(first).map(({ replicas }) => replicas);
  }
  most = (now: Date): number => Math.max(...this.#recent(now));
  least = (now: Date): number => Math.min(...this.#recent(now));
}

function isRefilled(world: World, machine: Machine): boolean {
  const uid = controllerOf(machine)?.uid;
  const set = world.context.sets.store.list().find(({ metadata }) => metadata.uid === uid);
  const alive = world.truth.store.list().filter((one) => controllerOf(one)?.uid === uid && !terminating(one)).length;
  return set !== undefined && alive < (set.spec.replicas ?? 0);
}

function openReplicas(world: World): number {
  const alive = world.truth.store.list().filter((one) => !terminating(one));
  const open = world.context.sets.store.list().map(({ metadata, spec }) => {
    const mine = alive.filter((one) => controllerOf(one)?.uid === metadata.uid);
    const waiting = mine.filter(({ status }) => status?.currentStatus?.phase === 'Failed').length;
    return Math.max((spec.replicas ?? 0) - mine.filter(running).length - waiting, 0);
  });
  return open.reduce((sum, count) => sum + count, 0);
}

async function act(world: World, wishes: Wishes, action: Act): Promise<void> {
  const machines = world.truth.store.list().filter((m) => !terminating(m));
  const chosen = (which: number) => machines[which % Math.max(machines.length, 1)]?.metadata.name;
  switch (action.do) {
    case 'scale':
      wishes.say(world.clock.now(), action.replicas);
      return world.change({ spec: { replicas: action.replicas } });
    case 'class':
      return world.changeClass(action.name);
    case 'pause':
      return world.change({ spec: { paused: action.paused } });
    case 'kill':
      return world.restart();
    case 'fail': {
      const name = chosen(action.which);
      return name ? world.setPhase(name, 'Failed') : undefined;
    }
    case 'delete': {
      const name = chosen(action.which);
      return name ? world.deleteMachine(name) : undefined;
    }
  }
}

let pausesVerified = 0;

async function live(
  { seed, surge, unavailable, faults: drawn, acts }: History,
  keepsAvailable: boolean,
): Promise<void> {
  const random = seededRandom(seed);
  const ms = () => 100 + Math.floor(random.next() * 1_000);
  const faults = { ...drawn };
  const journal = testJournal();
  await using world = await World.start(startControlPlane, {
    seed,
    birthMs: ms,
    deathMs: ms,
    journal,
    fault: (...args) => faulty(random, faults)(...args),
  });
  const wishes = new Wishes();
  const broken: string[] = [];
  const atOnce = surge === 0 && unavailable === 0 ? 1 : unavailable;
  world.truth.onChange((change) => {
    const now = world.clock.now();
    const all = world.truth.store.list();
    const alive = all.filter((m) => !terminating(m)).length;
    if (change.type === 'added' && alive > wishes.most(now) + surge)
      broken.push(`${alive} machines, at most ${wishes.most(now)} + ${surge} are allowed`);
    const given = change.type === 'updated' && running(change.old) && terminating(change.object);
    const left = all.filter(running).length;
    if (keepsAvailable && given && left < wishes.least(now) - atOnce)
      broken.push(`${left} available, at least ${wishes.least(now)} - ${atOnce} must be`);
  });
  const repairs = new Set<string>();
  world.truth.onChange(({ type, object }) => {
    const { uid } = object.metadata;
    if (type === 'deleted') return void repairs.delete(uid);
    if (type !== 'updated' || repairs.has(uid) || !terminating(object) || world.byHand.has(uid)) return;
    if (object.status?.currentStatus?.phase !== 'Failed' || !isRefilled(world, object)) return;
    repairs.add(uid);
    // By default, --max-unhealthy-replacements allows one replacement at a time, independent of rollouts.
    const atWork = Math.min(repairs.size, openReplicas(world));
    if (atWork > 1) broken.push(`${atWork} failed machines were being replaced at once`);
  });
  wishes.say(world.clock.now(), 3);
  await world.deploy(3, {
    strategy: {
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable },
    },
  });
  await world.pass(5);
  const verifier = new PauseVerifier(world);
  for (const [action, pauseMs] of acts) {
    await act(world, wishes, action);
    if (action.do === 'pause') await verifier.asked(action.paused);
    if (action.do === 'pause' && action.paused) await world.changeClass(random.next() < 0.5 ? 'large' : 'huge');
    if (action.do === 'scale') await verifier.asked();
    await world.pass(pauseMs / 1000);
    broken.push(...(await verifier.violations()));
  }
  pausesVerified += verifier.looks;
  faults.lost = 0;
  await world.change({ spec: { paused: false } });
  await world.until(
    () =>
      world.complete() &&
      world.truth.store.size === (world.context.deployments.store.get('test/pool')?.spec.replicas ?? 0),
    600,
  );
  await world.pass(180);
  const before = world.totalWrites();
  await world.pass(600);
  expect(world.totalWrites()).toBe(before);
  expect(broken).toEqual([]);
  expect(replayed(journal)).toEqual({ repeated: journal.size, differences: [], problems: [] });
}

const runs = { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? thoroughly(15, 3, 25)), endOnFailure: true };
const patienceMs = 60_000 + runs.numRuns * 5_000;

test(
  'lost answers, outdated caches and kills: the limits of the rollout are kept, and it completes',
  async () => {
    await fc.assert(
      fc.asyncProperty(history(gentle), (h) => live(h, true)),
      runs,
    );
  },
  patienceMs,
);

test(
  'with pauses, failures and deletions by hand the maximum is kept, and paused sets keep their sizes',
  async () => {
    await fc.assert(
      fc.asyncProperty(history(rough), (h) => live(h, false)),
      runs,
    );
    expect(pausesVerified).toBeGreaterThan(0);
  },
  patienceMs,
);
