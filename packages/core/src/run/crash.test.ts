import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { type Random, seededRandom } from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { type Fates, liveAndDie, type MortalOptions } from './testing/mortal.ts';

const open: MortalOptions['open'] = (clock) => startControlPlane({ clock, crds, controllers: false });

/** Creates and deletes two machines. The process stops at each point in `deaths`. */
function live(deaths: readonly (number | undefined)[], seed: number, initializes: boolean): Promise<Fates> {
  const joinAfterMs = pick(seededRandom(seed), [0, 100, 3_000]);
  return liveAndDie(deaths, { open, seed, joinAfterMs, cloud: { initializes } }, async ({ rig, settled }) => {
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
  });
}

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T;

test.each([false, true])(
  'killed at every write and driver call, then restarted: no machine has two VMs, and none remains (initialize: %s)',
  async (initializes) => {
    const { points } = await live([], 1, initializes);
    expect(points).toBeGreaterThan(40);
    for (let at = 0; at < points; at += thoroughly(1, 9)) expect((await live([at], 1, initializes)).deaths).toBe(1);
  },
  300_000,
);

test('killed twice at random points, over several seeds', async () => {
  for (let seed = 1; seed <= thoroughly(40, 4); seed++) {
    const random = seededRandom(seed);
    const deaths = [Math.floor(random.next() * 40), Math.floor(random.next() * 40)];
    await live(deaths, seed, random.next() < 0.5).catch((error: unknown) => {
      throw new Error(`seed ${seed}, deaths at ${deaths}: ${String(error)}`, { cause: error });
    });
  }
}, 300_000);
