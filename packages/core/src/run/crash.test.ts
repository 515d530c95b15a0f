import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { type Random, seededRandom } from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { type CrashOptions, type CrashResult, runWithCrashes } from './testing/crash-runs.ts';

const CREATE_MS = 4_000;

const open: CrashOptions['open'] = (clock) => startControlPlane({ clock, crds, controllers: false });

function live(crashes: readonly (number | undefined)[], seed: number, initializes: boolean): Promise<CrashResult> {
  const joinAfterMs = pick(seededRandom(seed), [0, 100, 3_000]);
  return runWithCrashes(crashes, { open, seed, joinAfterMs, cloud: { initializes } }, async ({ rig, settled }) => {
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
  'a process that is killed at any write or driver call leaves no second VM and no VM (initialize: %s)',
  async (initializes) => {
    const { points } = await live([], 1, initializes);
    expect(points).toBeGreaterThan(40);
    for (let at = 0; at < points; at += thoroughly(3, 15, 1))
      expect((await live([at], 1, initializes)).crashes).toBe(1);
  },
  300_000,
);

/** Deletes a machine before, while and after the cloud creates its VM. */
function deletedEarly(crashes: readonly (number | undefined)[], seed: number): Promise<CrashResult> {
  const random = seededRandom(seed);
  const options = { open, seed, joinAfterMs: undefined, createMs: CREATE_MS };
  return runWithCrashes(crashes, options, async ({ rig, settled }) => {
    await rig.createMachine('a');
    await rig.clock.advance(random.next() * 3 * CREATE_MS);
    await rig.deleteMachine('a');
    await settled(async () => (await rig.machines()).length === 0);
    expect(rig.cloud.vms).toEqual([]);
    expect(rig.cloud.made.length).toBeLessThanOrEqual(1);
  });
}

test('a machine that is deleted while its VM is created leaves no VM, also if the process is killed twice [incident 5]', async () => {
  for (let seed = 1; seed <= thoroughly(24, 6, 120); seed++) {
    const random = seededRandom(1_000 + seed);
    const crashes = [Math.floor(random.next() * 16), Math.floor(random.next() * 16)];
    await deletedEarly(crashes, seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}, crashes at ${crashes}: ${String(error)}`, { cause: error });
    });
  }
}, 300_000);

test('a process that is killed twice at random points leaves no second VM and no VM', async () => {
  for (let seed = 1; seed <= thoroughly(12, 4, 40); seed++) {
    const random = seededRandom(seed);
    const crashes = [Math.floor(random.next() * 40), Math.floor(random.next() * 40)];
    await live(crashes, seed, random.next() < 0.5).catch((error: unknown) => {
      throw new Error(`seed ${seed}, crashes at ${crashes}: ${String(error)}`, { cause: error });
    });
  }
}, 300_000);
