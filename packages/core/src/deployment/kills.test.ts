import { startControlPlane } from '@mcm/control-plane';
import { seededRandom, sleep, type VirtualClock } from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import { beforeAll, expect, test } from 'vitest';
import { World } from './testing/world.ts';

const KILLS = Number(process.env.MCM_KILLS ?? thoroughly(2, 1));
const SEED = Number(process.env.MCM_SEED ?? 1);
const MACHINES = 100;
const SURGE = 10;
/** The limit ends a test that hangs, and does not measure speed. */
const TIMEOUT = 600_000 + KILLS * 30_000;

/** A connection with a delay of up to 20 ms in each direction. */
class Wire {
  dead = false;
  readonly #random = seededRandom(SEED);

  readonly fault = async (
    request: Request,
    answer: () => Promise<Response>,
    clock: VirtualClock,
  ): Promise<Response> => {
    if (request.url.includes('watch=true')) return answer();
    await sleep(clock, this.#random.next() * 20);
    if (this.dead) return new Promise(() => undefined);
    const response = await answer();
    await sleep(clock, this.#random.next() * 20);
    return this.dead ? new Promise(() => undefined) : response;
  };
}

async function picture(world: World): Promise<object> {
  const { status, metadata } = await world.deployment();
  const sets = await world.sets();
  return {
    machines: (await world.machines())
      .map(({ spec, status: { currentStatus } = {}, metadata: { labels, finalizers } }) =>
        [spec.class.name, currentStatus?.phase, Object.keys(labels ?? {}).sort(), finalizers].join(),
      )
      .sort(),
    sets: sets
      .map(({ metadata: { annotations, labels, finalizers }, spec }) => ({
        name: spec.template.spec.class.name,
        replicas: spec.replicas,
        annotations,
        labels: Object.keys(labels ?? {}).sort(),
        finalizers,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    nodes: (await world.nodes()).map(({ spec, metadata: { annotations = {} } }) => [spec.taints ?? [], annotations]),
    deployment: {
      annotations: metadata.annotations,
      replicas: status?.replicas,
      updated: status?.updatedReplicas,
      available: status?.availableReplicas,
      conditions: status?.conditions?.map(({ type, status: value, reason }) => `${type}=${value}/${reason}`).sort(),
    },
  };
}

async function roll(killsAt: readonly number[]) {
  const wire = new Wire();
  const ms = (_machine: unknown, index: number) => 200 + (index % 10) * 90;
  await using world = await World.start(startControlPlane, {
    seed: SEED,
    birthMs: ms,
    deathMs: ms,
    fault: wire.fault,
  });
  await world.deploy(MACHINES, {
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: SURGE, maxUnavailable: 0 } },
  });
  await world.until(() => world.complete(), 300);
  await world.pass(5);
  const broken = new Set<string>();
  let born = 0;
  world.truth.onChange((change) => {
    const alive = world.truth.store.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const available = alive.filter((machine) => machine.status?.currentStatus?.phase === 'Running').length;
    if (change.type === 'added' && change.object.spec.class.name === 'large') born += 1;
    if (alive.length > MACHINES + SURGE) broken.add('more machines than replicas and surge');
    if (available < MACHINES) broken.add('fewer available than asked for');
  });
  const began = world.clock.now().getTime();
  await world.changeClass('large');
  for (const at of killsAt) {
    await world.pass(Math.max(began + at - world.clock.now().getTime(), 0) / 1000);
    wire.dead = true;
    world.beforeRestart = () => {
      wire.dead = false;
    };
    await world.restart();
  }
  await world.until(() => world.complete(), 900);
  const tookMs = world.clock.now().getTime() - began;
  await world.pass(30);
  return { picture: await picture(world), broken: [...broken], born, tookMs };
}

let calm: Awaited<ReturnType<typeof roll>>;
beforeAll(async () => {
  calm = await roll([]);
}, TIMEOUT);

test('without a kill each machine is replaced once', () => {
  expect([calm.born, calm.broken]).toEqual([MACHINES, []]);
});

test(`killed at ${KILLS} random instants of a rollout of ${MACHINES} machines: the same end every time, each machine replaced once`, {
  timeout: TIMEOUT,
}, async () => {
  const random = seededRandom(SEED);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const at = Math.floor(random.next() * calm.tookMs);
    const { picture: end, born, broken } = await roll([at]);
    expect({ at, born, broken, end }).toEqual({ at, born: MACHINES, broken: [], end: calm.picture });
  }
});

test('killed repeatedly in one rollout: the same end', { timeout: TIMEOUT }, async () => {
  const random = seededRandom(SEED + 1);
  const instants = Array.from({ length: 8 }, () => Math.floor(random.next() * calm.tookMs)).sort((a, b) => a - b);
  const { picture: end, born, broken } = await roll(instants);
  expect({ born, broken, end }).toEqual({ born: MACHINES, broken: [], end: calm.picture });
});
