import { Annotations, API_VERSION } from '@mcm/api';
import { type DeploymentPlan, planAll } from '@mcm/cli';
import { seededRandom } from '@mcm/kube';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { NAMESPACE, World } from './world/world.ts';

/** Compares the plan that `mcm plan` prints for a change with the actions of both controllers. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

interface Wish {
  readonly replicas: number;
  readonly paused: boolean;
  readonly machineClass: string;
}

async function planned(world: World, { replicas, paused, machineClass }: Wish): Promise<DeploymentPlan> {
  const { admin, clock } = world;
  const { metadata, spec } = await world.deployment();
  const file = {
    apiVersion: API_VERSION,
    kind: 'MachineDeployment',
    metadata,
    spec: { ...spec, replicas, paused, template: { ...spec.template, ...classOf(machineClass) } },
  };
  const guesses = { join: 30 * SECOND, drain: 30 * SECOND };
  const environment = { clock, random: seededRandom(1), signal: new AbortController().signal };
  const cluster = { client: admin, target: admin, namespace: NAMESPACE };
  const [plan] = await planAll(cluster, { deployments: [file], classes: [] }, guesses, environment);
  if (!plan) throw new Error('nothing was planned');
  return plan;
}

const classOf = (name: string) => ({ spec: { class: { kind: 'MachineClass', name } } });

const asked = ({ replicas, paused, machineClass }: Wish) => ({
  replicas,
  paused,
  template: classOf(machineClass),
});

interface Deletion {
  readonly at: string;
  readonly name: string;
}

function waves(deletions: readonly Deletion[], names: ReadonlySet<string>): string[][] {
  const all = new Map<string, string[]>();
  for (const { at, name } of deletions) if (names.has(name)) all.set(at, [...(all.get(at) ?? []), name]);
  return [...all.values()];
}

/** Returns true if the controllers deleted machines in the planned order. */
function agree(planned: readonly string[][], seen: readonly string[][]): boolean {
  const place = new Map(planned.flatMap((wave, index) => wave.map((name) => [name, index] as const)));
  let latest = 0;
  return seen.every((wave) => {
    const places = wave.map((name) => place.get(name) ?? -1);
    const inOrder = Math.min(...places) >= latest;
    latest = Math.max(...places);
    return inOrder;
  });
}

const wish = fc.record({
  replicas: fc.integer({ min: 0, max: 5 }),
  paused: fc.constantFrom(false, false, true),
  machineClass: fc.constantFrom('blue', 'green', 'blue', 'green', 'purple'),
});

const fleet = fc.record({
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  before: fc.integer({ min: 1, max: 5 }),
  limits: fc.constantFrom([1, 0], [0, 1], [2, 0], [1, 1], [2, 2]),
  wishes: fc.array(wish, { minLength: 1, maxLength: 4 }),
});

async function untilDone(world: World, wish: Wish, complete: boolean): Promise<void> {
  await world.until(async () => {
    const { metadata, status } = await world.deployment();
    return status?.observedGeneration === metadata.generation;
  });
  if (complete) await world.untilSettled(wish.replicas, wish.machineClass);
  else await world.clock.advance(5 * MINUTE);
}

/** Plans a change of an idle fleet, applies the change, and compares the result with the plan. */
async function compare(world: World, wish: Wish): Promise<void> {
  const there = new Set((await world.machines()).map(({ metadata }) => metadata.name));
  const sets = new Set((await world.sets()).map(({ metadata }) => metadata.name));
  const plan = await planned(world, wish);
  const from = world.deletions.length;
  await world.change(asked(wish));
  await untilDone(world, wish, plan.complete);
  expect(await world.isSettled(wish.replicas, wish.machineClass), plan.ends).toBe(plan.complete);
  const { conditions = [] } = (await world.deployment()).status ?? {};
  expect(conditions.map(({ type, message }) => `${type}: ${message}`)).toEqual(
    expect.arrayContaining([...plan.blockers]),
  );
  expect(plan.blockers.some((text) => text.includes('"purple"'))).toBe(wish.machineClass === 'purple');
  const foretold = plan.steps.flatMap(({ action, after: at, name }) => (action === 'delete' ? [{ at, name }] : []));
  const [planWaves, seenWaves] = [waves(foretold, there), waves(world.deletions.slice(from), there)];
  expect(seenWaves.flat().sort()).toEqual(planWaves.flat().sort());
  expect(agree(planWaves, seenWaves), JSON.stringify({ planWaves, seenWaves })).toBe(true);
  // If a change affects both the size and the template, mcm may create a machine and delete the machine again.
  const passing = new Set(plan.steps.flatMap(({ action, name }) => (action === 'delete' ? [name] : [])));
  const made = plan.steps.filter(({ action, name }) => action === 'make' && !passing.has(name));
  const really = (await world.machines()).map(({ metadata }) => metadata.name).filter((name) => !there.has(name));
  expect(really).toHaveLength(made.length);
  // The names of machines in a new set are not known in advance.
  const named = made.flatMap(({ name, set = '' }) => (sets.has(set) ? [name] : []));
  expect(really).toEqual(expect.arrayContaining(named));
}

test('a plan predicts the deleted machines with their order, and the created machines', async () => {
  await fc.assert(
    fc.asyncProperty(fleet, async ({ seed, before, limits: [maxSurge = 1, maxUnavailable = 0], wishes }) => {
      const world = await World.start({ seed, maxSurge, maxUnavailable, kubelets: { joinDelay: 30 * SECOND } });
      try {
        await world.createDeployment(before);
        await world.untilSettled(before, 'blue');
        for (const wish of wishes) await compare(world, wish);
      } finally {
        await world.close();
      }
    }),
    { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? 2) },
  );
}, 600_000);

test.each([
  [1, 1],
  [5, 2],
])(
  'a plan of a new pool of %d machines has the duration of the real creation, and names its assumptions',
  async (replicas, seed) => {
    const joinDelay = 90 * SECOND;
    const world = await World.start({ seed, kubelets: { joinDelay } });
    try {
      const { admin, clock } = world;
      const labels = { name: 'new' };
      const template = { metadata: { labels }, ...classOf('blue') };
      const file = {
        apiVersion: API_VERSION,
        kind: 'MachineDeployment',
        metadata: { name: 'new', namespace: NAMESPACE },
        spec: { replicas, selector: { matchLabels: labels }, template },
      };
      const environment = { clock, random: seededRandom(1), signal: new AbortController().signal };
      const cluster = { client: admin, target: admin, namespace: NAMESPACE };
      const plansWith = async (given: object) =>
        (await planAll(cluster, { deployments: [file as never], classes: [] }, given, environment))[0];
      const plan = await plansWith({ join: joinDelay });
      expect(plan).toMatchObject({ complete: true, machines: { made: replicas, deleted: 0, updated: 0 } });
      expect(plan?.assumes[0]).toBe('a new machine joins after 1m30s, from --join-time');
      expect((await plansWith({}))?.assumes[0]).toBe(
        'a new machine joins after 5m0s, the default of --join-time: no machine has joined yet',
      );
      const from = clock.now().getTime();
      await world.createDeployment(replicas);
      await world.untilSettled(replicas, 'blue');
      const tookMs = clock.now().getTime() - from;
      const [, minutes = '0', seconds = '0'] = /^(?:(\d+)m)?(\d+)s$/.exec(plan?.lasts ?? '') ?? [];
      const plannedMs = Number(minutes) * MINUTE + Number(seconds) * SECOND;
      // The creation of the VM, the join and the first report of the kubelet take a few more seconds than planned.
      expect(tookMs - plannedMs).toBeGreaterThanOrEqual(0);
      expect(tookMs - plannedMs).toBeLessThan(15 * SECOND);
    } finally {
      await world.close();
    }
  },
  600_000,
);

test('a plan predicts the warm machines that a scale-up uses, and the new warm machines', async () => {
  const annotations = { [Annotations.WarmMachines]: '2', [Annotations.WarmState]: 'Stopped' };
  const world = await World.start({ annotations, kubelets: { joinDelay: 30 * SECOND } });
  try {
    world.wantsWarm = 2;
    await world.createDeployment(2);
    await world.untilSettled(2, 'blue');
    const wish = { replicas: 5, paused: false, machineClass: 'blue' };
    const plan = await planned(world, wish);
    const namesOf = (action: string) => plan.steps.flatMap((step) => (step.action === action ? [step.name] : []));
    expect(plan).toMatchObject({ complete: true, machines: { made: 1 }, warm: { used: 2, made: 2, deleted: 0 } });
    const before = (await world.machines()).map(({ metadata }) => metadata.name);
    await world.change(asked(wish));
    await world.untilSettled(5, 'blue');
    const after = await world.machines();
    const isWarm = (name: string): boolean =>
      after.some(
        ({ metadata }) => metadata.name === name && metadata.annotations?.[Annotations.WarmState] !== undefined,
      );
    expect(namesOf('use warm').every((name) => before.includes(name) && !isWarm(name))).toBe(true);
    const made = after.map(({ metadata }) => metadata.name).filter((name) => !before.includes(name));
    expect(made.filter((name) => !isWarm(name))).toEqual(namesOf('make'));
    expect(made.filter(isWarm)).toHaveLength(namesOf('make warm').length);
  } finally {
    await world.close();
  }
});
