import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { type Random, seededRandom, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Rig } from './testing.ts';

/** Counts the points at which a process can die: before and after each of its writes and cloud calls. */
class Fate {
  passed = 0;
  /** Dies at this point; undefined: never. */
  deadline: number | undefined;
  dead = false;
  onDeath: () => void = () => undefined;

  /** Throws for the dying process, and for everything it still tries. */
  pass(): void {
    if (this.dead) throw new Error('this process is dead');
    if (this.passed++ !== this.deadline) return;
    this.dead = true;
    this.onDeath();
    throw new Error('killed');
  }
}

/** Every write passes a point before it reaches the server and one before its answer is read. */
const mortal =
  (fate: () => Fate) =>
  (transport: Transport): Transport => {
    const mine = fate();
    return async (request) => {
      if (request.method === 'GET') return transport(request);
      mine.pass();
      const response = await transport(request);
      mine.pass();
      return response;
    };
  };

interface Result {
  readonly points: number;
  /** Times that a process died. */
  readonly deaths: number;
}

/** One life of two machines, born and deleted, the process dying at `deathAt` and once more at `deathAgainAt`. */
async function live(deaths: readonly (number | undefined)[], seed: number, initializes: boolean): Promise<Result> {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  const random = seededRandom(seed);
  let fate = new Fate();
  let restart: Promise<void> = Promise.resolve();
  let restarts = 0;
  const rig: Rig = new Rig({
    clock,
    plane,
    seed,
    joinAfterMs: pick(random, [0, 100, 3_000]),
    cloud: { initializes, gate: () => fate.pass() },
    wrap: mortal(() => fate),
  });
  const begin = (): void => {
    fate = new Fate();
    fate.deadline = deaths[restarts++];
    fate.onDeath = () => {
      restart = rig.kill().then(() => begin());
    };
    rig.start();
  };
  await rig.createClass('small', 'token=<<BOOTSTRAP_TOKEN>>');
  begin();
  let points = 0;
  const settled = async (done: () => Promise<boolean>): Promise<void> => {
    await rig.until(async () => {
      await restart;
      points = Math.max(points, fate.passed);
      return done();
    });
  };
  await rig.createMachine('a');
  await rig.createMachine('b');
  await settled(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  expect(new Set(rig.cloud.made.map((vm) => vm.uid)).size).toBe(rig.cloud.made.length);
  expect(rig.cloud.vms).toHaveLength(2);
  await rig.deleteMachine('a');
  await settled(async () => (await rig.machines()).length === 1);
  await rig.deleteMachine('b');
  await settled(async () => (await rig.machines()).length === 0);
  expect(rig.cloud.vms).toEqual([]);
  expect(rig.cloud.made).toHaveLength(2);
  expect(await rig.nodes()).toEqual([]);
  await rig.kill();
  await plane.close();
  return { points, deaths: restarts - 1 };
}

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T;

test.each([false, true])(
  'killed at every write and cloud call, started again: no VM twice, none left over (initialize: %s)',
  async (initializes) => {
    const { points } = await live([], 1, initializes);
    expect(points).toBeGreaterThan(40);
    for (let at = 0; at < points; at++) expect((await live([at], 1, initializes)).deaths).toBe(1);
  },
  300_000,
);

test('killed twice, at random, over seeds', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = seededRandom(seed);
    const deaths = [Math.floor(random.next() * 40), Math.floor(random.next() * 40)];
    await live(deaths, seed, random.next() < 0.5).catch((error: unknown) => {
      throw new Error(`seed ${seed}, deaths at ${deaths}: ${String(error)}`, { cause: error });
    });
  }
}, 300_000);
