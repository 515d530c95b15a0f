import { Labels } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { seededRandom } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { expectClean, label, play, rounds, strategy, uids } from '../testing/in-place-agents.ts';
import { World, type WorldOptions } from '../testing/world.ts';

const start = (options: WorldOptions = {}) => World.start(startControlPlane, options);

describe('InPlaceUpdate', () => {
  test('Auto without surge updates every machine and replaces none', async () => {
    await using world = await start();
    await world.deploy(3, strategy('Auto', 0, 1));
    await world.until(() => world.complete(), 60);
    const before = await uids(world);
    await world.changeClass('large');
    await rounds(world, 20);
    expect([await uids(world), await world.sizes()]).toEqual([before, 'large:3 small:0']);
    expect(world.complete()).toBe(true);
    await expectClean(world);
    const sets = await world.sets();
    const current = sets.find((set) => set.spec.replicas === 3);
    for (const machine of await world.machines()) {
      expect(machine.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([current?.metadata.uid]);
      expect(machine.metadata.labels).toMatchObject(current?.spec.selector?.matchLabels ?? {});
      expect(machine.spec.class.name).toBe('small');
    }
  });

  test.each([
    { replicas: 6, unavailable: 2 },
    { replicas: 5, unavailable: 1 },
    { replicas: 4, unavailable: 4 },
  ])('at most $unavailable of $replicas machines are updated at one time', async ({ replicas, unavailable }) => {
    await using world = await start();
    await world.deploy(replicas, strategy('Auto', 0, unavailable));
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    let most = 0;
    for (let i = 0; i < 120 && !world.complete(); i++) {
      await world.pass(1);
      const selected = (await world.nodes()).filter(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate]);
      const busy = (await world.machines()).filter(({ status }) => status?.currentStatus?.phase !== 'Running');
      const names = new Set([...selected, ...busy].map(({ metadata }) => metadata.name));
      most = Math.max(most, names.size);
      await play(world);
    }
    expect(await world.sizes()).toBe(`large:${replicas} small:0`);
    expect(most).toBe(unavailable);
  });

  test('Auto with surge 1 creates one machine, updates two and deletes one [P-23]', async () => {
    await using world = await start();
    await world.deploy(3, strategy('Auto', 1, 0));
    await world.until(() => world.complete(), 60);
    const before = await uids(world);
    await world.changeClass('large');
    await rounds(world, 20);
    const after = await uids(world);
    expect(await world.sizes()).toBe('large:3 small:0');
    expect(after.filter((uid) => before.includes(uid))).toHaveLength(2);
    expect(after).toHaveLength(3);
    await expectClean(world);
  });

  test('Manual selects nothing, and moves the machines that the user selects [P-22]', async () => {
    await using world = await start();
    await world.deploy(3, strategy('Manual', 0, 1));
    await world.until(() => world.complete(), 60);
    const before = await uids(world);
    await world.changeClass('large');
    await rounds(world, 4);
    expect(await world.sizes()).toBe('large:0 small:3');
    const all = await world.nodes();
    expect(all.map(({ metadata }) => metadata.labels?.[Labels.CandidateForUpdate])).toEqual(['true', 'true', 'true']);
    expect(all.filter(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate])).toEqual([]);
    await label(world, all[0]?.metadata.name ?? '', 'true');
    await rounds(world, 6);
    expect([await world.sizes(), await uids(world)]).toEqual(['large:1 small:2', before]);
  });

  test('a selection of an updated node is removed, but not one for a template that just changed', async () => {
    let changes = 0;
    await using world: World = await start({
      fault: async (request, answer) => {
        if (changes > 0 && request.method === 'GET' && /\/machinedeployments\/[^/?]+$/.test(request.url)) {
          changes -= 1;
          await world.changeClass('large');
        }
        return answer();
      },
    });
    await world.deploy(2, strategy('Manual', 0, 1));
    await world.until(() => world.complete(), 60);
    const [name = ''] = (await world.nodes()).map(({ metadata }) => metadata.name);
    const isSelected = async () =>
      (await world.nodes()).some(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate] !== undefined);
    await label(world, name, 'true');
    await rounds(world, 2);
    expect(await isSelected()).toBe(false);
    changes = 1;
    await label(world, name, 'true');
    await world.pass(1);
    expect([changes, await isSelected()]).toEqual([0, true]);
    await rounds(world, 8);
    expect(await world.sizes()).toBe('large:1 small:1');
  });

  test('a failed update stops the others, and nothing is replaced [P-24]', async () => {
    await using world = await start();
    await world.deploy(3, strategy('Auto', 0, 1));
    await world.until(() => world.complete(), 60);
    const before = await uids(world);
    await world.changeClass('large');
    await rounds(world, 10, () => 'failed');
    const selected = (await world.nodes()).filter(({ metadata }) => metadata.labels?.[Labels.SelectedForUpdate]);
    expect([selected.length, await world.sizes(), await uids(world)]).toEqual([1, 'large:0 small:3', before]);
  });

  test('a machine that fails permanently during its update is replaced by one of the new template', async () => {
    await using world = await start();
    await world.deploy(2, strategy('Auto', 0, 1));
    await world.until(() => world.complete(), 60);
    const victim = (await world.machines())[0]?.metadata.name ?? '';
    await world.changeClass('large');
    await rounds(world, 8, ({ metadata }) => (metadata.name === victim ? 'hangs' : 'successful'));
    await world.deleteMachine(victim);
    await rounds(world, 15);
    expect(await world.sizes()).toBe('large:2 small:0');
    expect((await world.machines()).filter(({ metadata }) => metadata.name === victim)).toEqual([]);
  });

  test('replicas changed midway, and the way back, do not stall [BUG-5, BUG-7]', async () => {
    await using world = await start();
    await world.deploy(3, strategy('Auto', 0, 1));
    await world.until(() => world.complete(), 60);
    await world.changeClass('large');
    await rounds(world, 4);
    await world.change({ spec: { replicas: 5 } });
    await rounds(world, 20);
    expect(await world.sizes()).toBe('large:5 small:0');
    await world.changeClass('small');
    await rounds(world, 30);
    expect(await world.sizes()).toBe('large:0 small:5');
    await world.change({ spec: { replicas: 2 } });
    await rounds(world, 10);
    expect([await world.sizes(), world.complete()]).toEqual(['large:0 small:2', true]);
  });

  test.each([1, 2, 3, 4, 5, 6])(
    'a manager that dies and loses answers (seed %i) neither loses nor doubles a machine',
    async (seed) => {
      const random = seededRandom(seed);
      let broken = false;
      await using world = await start({
        seed,
        fault: async (request, answer) => {
          const lost = broken && request.method !== 'GET' && random.next() < 0.15;
          const before = random.next() < 0.5;
          if (lost && before) throw new TypeError('connection reset');
          const response = await answer();
          if (lost) throw new TypeError('connection reset');
          return response;
        },
      });
      await world.deploy(4, strategy('Auto', 0, 2));
      await world.until(() => world.complete(), 60);
      const before = await uids(world);
      broken = true;
      await world.changeClass('large');
      for (let i = 0; i < 40; i++) {
        await world.clock.advance(Math.floor(random.next() * 1500));
        if (random.next() < 0.3) await world.restart();
        await play(world);
        expect(await uids(world)).toEqual(before);
      }
      broken = false;
      await rounds(world, 60);
      expect([await uids(world), await world.sizes()]).toEqual([before, 'large:4 small:0']);
      await expectClean(world);
      const quiet = world.totalWrites();
      await world.pass(120);
      expect(world.totalWrites()).toBe(quiet);
    },
  );
});
