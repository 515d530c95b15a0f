import { Annotations, formatTime, machineDeployments, machineSets, machines } from '@mcm/api';
import { Autoscaler, SCALER_FORMS, type ScalerForm } from '@mcm/api/testing';
import { startControlPlane } from '@mcm/control-plane';
import { ignoreNotFound, isConflict, nodes, sleep } from '@mcm/kube';
import { sampled, thoroughly } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import { ScaleRecorder } from './testing/scale-recorder.ts';
import { NAMESPACE, World, type WorldOptions } from './testing/world.ts';

const SETTLES_S = 30;

const names = async (world: World) => (await world.machines()).map(({ metadata }) => metadata.name).sort();

async function fleet(replicas: number, options: WorldOptions = {}) {
  const world = await World.start(startControlPlane, options);
  await world.deploy(replicas);
  await world.until(() => world.complete(), 120);
  await world.pass(5);
  return { world, budget: new ScaleRecorder(world.truth), first: await names(world) };
}

function scalerOf({ keeper, clock }: World, form: ScalerForm): Autoscaler {
  const deployments = keeper.resource(machineDeployments, NAMESPACE);
  const all = keeper.resource(machines, NAMESPACE);
  return new Autoscaler(
    {
      getDeployment: () => deployments.get('pool'),
      putDeployment: (deployment) => deployments.update(deployment),
      getMachine: (name) => all.get(name),
      putMachine: (machine) => all.update(machine),
      cordon: (name) => keeper.resource(nodes).patch(name, { type: 'merge', body: { spec: { unschedulable: true } } }),
      isConflict,
      now: () => clock.now(),
    },
    form,
  );
}

const WIRES = sampled([150, 0], 2);

const slow =
  (ms: number): NonNullable<WorldOptions['fault']> =>
  async (request, answer, clock) => {
    if (ms === 0 || request.url.includes('watch=true')) return answer();
    await sleep(clock, ms);
    const response = await answer();
    await sleep(clock, ms);
    return response;
  };

describe.each(SCALER_FORMS)('the autoscaler names machines by %s', (form) => {
  describe.each(WIRES)('requests take %d ms each way', (ms) => {
    test.each([
      ['one at a time', 1, SETTLES_S],
      ['two at a time', 2, SETTLES_S],
      ['one at a time, without a pause', 1, 0],
      ['two at a time, half a second apart', 2, 0.5],
    ])('from 5 to 1, %s: exactly the named machines are deleted, and none is created', async (_title, step, pause) => {
      const { world, budget, first } = await fleet(5, { fault: slow(ms) });
      await using _ = world;
      const scaler = scalerOf(world, form);
      const named = first.slice(1).reverse();
      for (let at = 0; at < named.length; at += step) {
        await scaler.scaleDown(named.slice(at, at + step));
        await world.pass(pause);
      }
      await world.pass(SETTLES_S);
      expect([budget.deleted.toSorted(), budget.created]).toEqual([named.toSorted(), []]);
      expect(await names(world)).toEqual(first.slice(0, 1));
    });

    // A mark that is only a priority has no time, so the manager cannot detect that a scale-up followed the mark. The
    // next scale-down then deletes the marked machine.
    const pauses = form === 'priority' ? [SETTLES_S] : [SETTLES_S, 0.5];
    test.each(pauses)('in and out in turn, %d s apart: exactly the requested machines are created', async (pause) => {
      const { world, budget, first } = await fleet(5, { fault: slow(ms) });
      await using _ = world;
      const scaler = scalerOf(world, form);
      const named: string[] = [];
      for (const by of [1, 2, 1]) {
        const victims = first.filter((name) => !named.includes(name)).slice(-by);
        named.push(...victims);
        await scaler.scaleDown(victims);
        await world.pass(pause);
        await scaler.scaleBy(1);
        await world.pass(pause);
      }
      await world.pass(SETTLES_S);
      await world.until(() => world.complete(), 120);
      expect([budget.deleted.toSorted(), budget.created.length]).toEqual([named.toSorted(), 3]);
    });
  });
});

describe('down and up again before the manager looks [9.3]', () => {
  test.each(['names', 'times'] as const)('%s: the named machine is deleted and replaced', async (form) => {
    const { world, budget, first } = await fleet(3);
    await using _ = world;
    const [, b = ''] = first;
    const restarted = world.restart();
    await scalerOf(world, form).scaleDown([b]);
    await scalerOf(world, form).scaleBy(1);
    await restarted;
    await world.pass(SETTLES_S);
    expect([budget.deleted, budget.created.length, world.complete()]).toEqual([[b], 1, true]);
  });

  test.each(['names', 'times'] as const)(
    '%s: the replicas fall by more than they rose, and the first write of the set conflicts',
    async (form) => {
      const refused = Response.json(
        { kind: 'Status', apiVersion: 'v1', reason: 'Conflict', code: 409 },
        { status: 409 },
      );
      let conflicts = 0;
      const { world, budget, first } = await fleet(5, {
        fault: async (request, answer) => {
          if (
            conflicts === 0 ||
            request.method !== 'PUT' ||
            !/\/machinesets\/[^/]+$/.test(new URL(request.url).pathname)
          ) {
            return answer();
          }
          conflicts -= 1;
          return refused.clone();
        },
      });
      await using _ = world;
      const named = first.slice(1, 4);
      const restarted = world.restart();
      await scalerOf(world, form).scaleDown(named);
      await scalerOf(world, form).scaleBy(1);
      conflicts = 1;
      await restarted;
      await world.pass(SETTLES_S);
      expect([budget.deleted.toSorted(), budget.created.length, conflicts]).toEqual([named, 1, 0]);
      expect(world.complete()).toBe(true);
    },
  );
});

describe('a scale-in that a manager saw, but did not write before its end', () => {
  test.each([1, 2])('the replicas rise again by %d: the named machines are deleted and replaced', async (rise) => {
    const refused = Response.json({ kind: 'Status', apiVersion: 'v1', reason: 'Conflict', code: 409 }, { status: 409 });
    let blocked = false;
    const { world, budget, first } = await fleet(5, {
      fault: async (request, answer) => {
        const isSet = /\/machinesets\/[^/]+$/.test(new URL(request.url).pathname);
        return blocked && request.method === 'PUT' && isSet ? refused.clone() : answer();
      },
    });
    await using _ = world;
    const named = first.slice(1, 3);
    blocked = true;
    await scalerOf(world, 'times').scaleDown(named);
    await world.pass(5);
    const restarted = world.restart();
    await scalerOf(world, 'times').scaleBy(rise);
    blocked = false;
    await restarted;
    await world.pass(SETTLES_S);
    expect([budget.deleted.toSorted(), budget.created.length, world.complete()]).toEqual([named, rise, true]);
  });
});

describe('names that wait for their fall of the count', () => {
  test.each(WIRES)('two names with one time, and the count falls by one twice, %d ms in each direction', async (ms) => {
    const { world, budget, first } = await fleet(5, { fault: slow(ms) });
    await using _ = world;
    const named = first.slice(3);
    await world.change({ metadata: { annotations: { [Annotations.TriggerDeletion]: named.join(',') } } });
    await world.pass(SETTLES_S);
    for (const replicas of [4, 3]) {
      await world.change({ spec: { replicas } });
      await world.pass(SETTLES_S);
      expect([budget.deleted.length, budget.created]).toEqual([5 - replicas, []]);
    }
    expect(budget.deleted.toSorted()).toEqual(named);
  });

  test('names in advance, a scale-up, then the scale-down: only the scale-up creates machines', async () => {
    const { world, budget, first } = await fleet(3);
    await using _ = world;
    const named = first.slice(2);
    await world.change({ metadata: { annotations: { [Annotations.TriggerDeletion]: named.join(',') } } });
    await world.pass(SETTLES_S);
    for (const replicas of [4, 5, 4]) {
      await world.change({ spec: { replicas } });
      await world.pass(SETTLES_S);
    }
    expect([budget.deleted, budget.created.length]).toEqual([named, 2]);
  });

  test('a state of the original: machines named with the time of the former scale-down, and a set that was not scaled yet', async () => {
    const { world, budget, first } = await fleet(5, { fault: slow(150) });
    await using _ = world;
    const [victim = ''] = first.slice(-1);
    const time = '2026-01-01T12:00:01Z';
    const scaler = { [Annotations.LastReplicaChangeByScaler]: time };
    const restarted = world.restart();
    const [name = ''] = (await world.sets()).map(({ metadata }) => metadata.name);
    await world.keeper
      .resource(machineSets, NAMESPACE)
      .patch(name, { type: 'merge', body: { metadata: { annotations: scaler } } });
    await world.patchMachine(victim, {
      metadata: { annotations: { [Annotations.Priority]: '1', [Annotations.MarkedForDeletionTime]: time } },
    });
    await world.change({
      metadata: { annotations: { ...scaler, [Annotations.TriggerDeletion]: `${victim}~${time}` } },
      spec: { replicas: 4 },
    });
    await restarted;
    await world.pass(SETTLES_S);
    expect([budget.deleted, budget.created]).toEqual([[victim], []]);
  });
});

class Wire {
  broken = false;
  left = Number.POSITIVE_INFINITY;
  done = true;

  readonly fault = async (request: Request, answer: () => Promise<Response>): Promise<Response> => {
    const never = () => new Promise<Response>(() => undefined);
    if (this.broken) return never();
    const { pathname } = new URL(request.url);
    if (request.method === 'GET' || !/\/machine(s|sets|deployments)(\/|$)/.test(pathname)) return answer();
    this.left -= 1;
    if (this.left > 0) return answer();
    this.broken = true;
    if (this.done) await answer();
    return never();
  };
}

class CrashingManager {
  readonly #world: World;
  readonly #wire: Wire;
  died = false;

  constructor(world: World, wire: Wire, death: { readonly write: number; readonly done: boolean }) {
    this.#world = world;
    this.#wire = wire;
    Object.assign(wire, { left: death.write, done: death.done });
    world.beforeRestart = () => {
      if (wire.broken) Object.assign(wire, { broken: false, left: Number.POSITIVE_INFINITY });
    };
  }

  async settle(): Promise<void> {
    for (let step = 0; step < SETTLES_S * 4; step += 1) {
      await this.#world.pass(0.25);
      if (!this.#wire.broken) continue;
      this.died = true;
      await this.#world.restart();
    }
  }
}

async function dyingAt(
  death: { readonly write: number; readonly done: boolean },
  replicas: number,
  acts: (world: World, first: readonly string[], manager: CrashingManager) => Promise<void>,
) {
  const wire = new Wire();
  const { world, budget, first } = await fleet(replicas, { fault: wire.fault });
  await using _ = world;
  const manager = new CrashingManager(world, wire, death);
  await acts(world, first, manager);
  await manager.settle();
  await manager.settle();
  return { first, budget, left: await names(world), died: manager.died };
}

const STEP = thoroughly(8, 16, 1);
const MANY_WRITES = 60;

describe('the manager dies at any of its writes', () => {
  describe.each(SCALER_FORMS)('%s', (form) => {
    test.each([true, false])('two scale-ins in a row, the write was executed: %s', async (done) => {
      let write = 1;
      for (let died = true; died; write += STEP) {
        const seen = await dyingAt({ write, done }, 4, async (world, all, manager) => {
          await scalerOf(world, form).scaleDown(all.slice(3));
          await manager.settle();
          await scalerOf(world, form).scaleDown(all.slice(2, 3));
        });
        const { first, budget, left } = seen;
        died = seen.died;
        expect({ write, deleted: budget.deleted.toSorted(), created: budget.created, left }).toEqual({
          write,
          deleted: first.slice(2),
          created: [],
          left: first.slice(0, 2),
        });
        expect(write).toBeLessThan(MANY_WRITES);
      }
      expect(write).toBeGreaterThan(6);
    });
  });

  test.each([true, false])('after down and up unseen, the write was executed: %s', async (done) => {
    let write = 1;
    for (let died = true; died; write += STEP) {
      const seen = await dyingAt({ write, done }, 3, async (world, all) => {
        const scaler = scalerOf(world, 'names');
        const restarted = world.restart();
        await scaler.scaleDown(all.slice(2));
        await scaler.scaleBy(1);
        await restarted;
      });
      const { first, budget } = seen;
      died = seen.died;
      expect({ write, deleted: budget.deleted, created: budget.created.length }).toEqual({
        write,
        deleted: first.slice(2),
        created: 1,
      });
      expect(write).toBeLessThan(MANY_WRITES);
    }
    expect(write).toBeGreaterThan(4);
  });
});

type Write = 'mark' | 'replicas' | 'set' | 'priority';

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));

const ORDERS: readonly (readonly Write[])[] = permutations<Write>(['mark', 'replicas', 'set', 'priority']);

const MARKS = {
  'a name': () => ({}),
  'a name and a time': (time: string) => ({ [Annotations.TriggerDeletion]: time }),
  'a name, a time and the time of the last change': (time: string) => ({
    [Annotations.TriggerDeletion]: time,
    [Annotations.LastReplicaChangeByScaler]: time,
  }),
} as const;

async function write(world: World, what: Write, victim: string, mark: keyof typeof MARKS): Promise<void> {
  const time = formatTime(world.clock.now());
  switch (what) {
    case 'mark': {
      const { [Annotations.TriggerDeletion]: at, ...more }: Record<string, string> = MARKS[mark](time);
      const list = at === undefined ? victim : `${victim}~${at}`;
      return world.change({ metadata: { annotations: { ...more, [Annotations.TriggerDeletion]: list } } });
    }
    case 'replicas':
      return world.change({ spec: { replicas: 4 } });
    case 'priority':
      await ignoreNotFound(world.patchMachine(victim, { metadata: { annotations: { [Annotations.Priority]: '1' } } }));
      return;
    case 'set': {
      const [name = ''] = (await world.sets()).map(({ metadata }) => metadata.name);
      await world.keeper
        .resource(machineSets, NAMESPACE)
        .patch(name, { type: 'merge', body: { spec: { replicas: 4 } } });
    }
  }
}

const before = (order: readonly Write[], one: Write, other: Write): boolean =>
  order.indexOf(one) < order.indexOf(other);

const isNamed = (order: readonly Write[]): boolean =>
  before(order, 'mark', 'replicas') || before(order, 'priority', 'replicas');

describe.each(Object.keys(MARKS) as (keyof typeof MARKS)[])(
  'a scale-in has the same result for every order of its writes: %s',
  (mark) => {
    test.each(sampled(ORDERS, 5, 4).map((order) => [order.join(', '), order] as const))(
      '%s: all of them while no manager runs',
      async (_title, order) => {
        const { world, budget, first } = await fleet(5);
        await using _ = world;
        const [victim = ''] = first.slice(-1);
        const restarted = world.restart();
        for (const what of order) await write(world, what, victim, mark);
        await restarted;
        await world.pass(SETTLES_S);
        expect([budget.deleted, budget.created]).toEqual([[victim], []]);
      },
    );

    const live = permutations<Write>(['mark', 'replicas', 'priority']);
    test.each(sampled(live, 6, 3).map((order) => [order.join(', '), order] as const))(
      '%s, with a manager that reconciles after each, and dies after any of them',
      async (_title, order) => {
        for (let deadAfter = 0; deadAfter <= order.length; deadAfter += 1) {
          for (const pause of [SETTLES_S, 0]) {
            const { world, budget, first } = await fleet(5);
            await using _ = world;
            const [victim = ''] = first.slice(-1);
            for (const [index, what] of order.entries()) {
              await write(world, what, victim, mark);
              if (index + 1 === deadAfter) await world.restart();
              await world.pass(pause);
              if (before(order, what, 'replicas')) expect(budget.deleted).toEqual([]);
            }
            await world.pass(SETTLES_S);
            const seen = { deadAfter, pause, deleted: budget.deleted.length, created: budget.created };
            // The manager reads the name of the machine only after the scale-down, which has already deleted another
            // machine.
            expect(seen).toEqual({ deadAfter, pause, deleted: 1, created: [] });
            if (isNamed(order)) expect(budget.deleted).toEqual([victim]);
          }
        }
      },
    );
  },
);
