import { Annotations, type Machine } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { withLessSurge } from '../rollout/less-surge.ts';
import { rolling } from './testing/transcript.ts';
import { World } from './testing/world.ts';
import { validateDeployment } from './validation.ts';

const waiting = (errorCode: string, providerID?: string): Machine =>
  ({ metadata: {}, spec: { providerID }, status: { lastOperation: { errorCode } } }) as never;
const short = waiting('ResourceExhausted');
const limits = { surge: 3, annotatedSurge: 3, unavailable: 0 };
const unavailable = (minSurge: number | undefined, ...machines: readonly Machine[]): number =>
  withLessSurge(limits, minSurge, machines).unavailable;

test('each machine without capacity allows one more unavailable machine, up to the surge that is not needed', () => {
  expect([1, 2, 3, 4].map((count) => unavailable(1, ...Array<Machine>(count).fill(short)))).toEqual([1, 2, 2, 2]);
  expect(unavailable(3, short)).toBe(0);
  expect(unavailable(9, short)).toBe(0);
});

test('without the annotation, or for another reason, the limits stay', () => {
  expect(unavailable(undefined, short)).toBe(0);
  expect(unavailable(0)).toBe(0);
  expect(unavailable(0, waiting('Internal'), waiting('ResourceExhausted', 'id'))).toBe(0);
  expect(unavailable(0, { ...short, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } } as never)).toBe(0);
});

test('an invalid value is named', () => {
  const deployment = (value: string) => ({
    metadata: { name: 'a', annotations: { [Annotations.RolloutMinSurge]: value } },
    spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
  });
  const problems = (value: string) =>
    validateDeployment(deployment(value) as never).filter(({ field }) => field.includes('min-surge'));
  expect(['0', '2', '10%'].flatMap(problems)).toEqual([]);
  expect(['-1', 'few', ''].map((value) => problems(value).length)).toEqual([1, 1, 1]);
});

const MINUTE = 60;

async function full(annotations: Record<string, string>): Promise<World> {
  const lives = { birthMs: (_: Machine, index: number) => (index < 4 ? 1_000 : undefined), deathMs: () => 1_000 };
  const world = await World.start((options) => startControlPlane(options), lives);
  await world.deploy(4, rolling(1, 0), { annotations });
  await world.until(() => world.complete(), 10 * MINUTE);
  await world.changeClass('large');
  return world;
}

const isRunning = ({ status }: Machine): boolean => status?.currentStatus?.phase === 'Running';

/** Simulates new machines. */
async function play(world: World, minutes: number): Promise<number> {
  let fewest = 4;
  for (let i = 0; i < minutes * 6; i++) {
    const all = await world.machines();
    let room = 4 - all.filter(isRunning).length;
    for (const { metadata } of all.filter((machine) => !isRunning(machine) && !machine.metadata.deletionTimestamp)) {
      const operation = { type: 'Create', state: 'Failed', errorCode: 'ResourceExhausted' };
      if (room-- > 0) await world.setPhase(metadata.name, 'Running');
      else await world.setPhase(metadata.name, 'CrashLoopBackOff', { lastOperation: operation });
    }
    await world.pass(10);
    fewest = Math.min(fewest, (await world.machines()).filter(isRunning).length);
  }
  return fewest;
}

test('a rollout without the annotation waits for its surge', async () => {
  await using world = await full({});
  expect(await play(world, 10)).toBe(4);
  expect(await world.sizes()).toBe('large:1 small:4');
});

test('with minSurge 0 it continues without surge, one machine at a time', async () => {
  await using world = await full({ [Annotations.RolloutMinSurge]: '0' });
  expect(await play(world, 10)).toBe(3);
  expect(await world.sizes()).toBe('large:4 small:0');
});

test('a machine that first fails for another reason, and then for lack of capacity, lets the rollout continue', async () => {
  await using world = await full({ [Annotations.RolloutMinSurge]: '0' });
  await world.until(async () => (await world.machines()).length === 5, MINUTE);
  const surge = (await world.machines()).find((machine) => !isRunning(machine))?.metadata.name ?? '';
  for (const errorCode of ['Unavailable', 'ResourceExhausted']) {
    const lastOperation = { type: 'Create', state: 'Failed', errorCode, description: `Cloud error: ${errorCode}` };
    await world.setPhase(surge, 'CrashLoopBackOff', { lastOperation });
    await world.pass(10);
    expect(await world.sizes()).toBe(errorCode === 'Unavailable' ? 'large:1 small:4' : 'large:2 small:3');
  }
});

test('the status of the deployment contains the newest error of each failed machine', async () => {
  await using world = await full({});
  await world.until(async () => (await world.machines()).length === 5, MINUTE);
  const surge = (await world.machines()).find((machine) => !isRunning(machine))?.metadata.name ?? '';
  for (const description of ['Cloud error: no quota', 'Cloud error: the image does not exist']) {
    const lastOperation = { type: 'Create', state: 'Failed', errorCode: 'Internal', description };
    await world.setPhase(surge, 'CrashLoopBackOff', { lastOperation });
    await world.pass(10);
    const { status } = await world.deployment();
    expect(status?.failedMachines?.map((failed) => failed.lastOperation?.description)).toEqual([description]);
  }
});
