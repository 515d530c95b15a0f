import { Annotations, type Machine, MachineDeploymentConditions } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { findCondition } from '../objects/conditions.ts';
import { rolling } from './testing/transcript.ts';
import { World } from './testing/world.ts';

const MINUTE = 60;
const { RolloutCanary, RolloutCanarySoak, RolloutBatchPause } = Annotations;

async function start(annotations: Readonly<Record<string, string>>, joins = (_: Machine): boolean => true) {
  const world = await World.start(startControlPlane, { birthMs: (machine) => (joins(machine) ? 100 : undefined) });
  await world.deploy(4, { ...rolling(1, 0), progressDeadlineSeconds: 600 }, { annotations });
  await world.until(() => world.complete(), MINUTE);
  return world;
}

async function reasonOf(world: World): Promise<string | undefined> {
  const { status } = await world.deployment();
  return findCondition(status?.conditions ?? [], MachineDeploymentConditions.Progressing)?.reason;
}

const WAITS: readonly (readonly [title: string, annotations: Readonly<Record<string, string>>])[] = [
  ['a canary', { [RolloutCanary]: '1' }],
  ['a canary with a soak time', { [RolloutCanary]: '1', [RolloutCanarySoak]: '30m' }],
  ['a batch', { [RolloutBatchPause]: '30m' }],
];

test.each(WAITS)('the deadline passes if %s does not join', async (_title, annotations) => {
  await using world = await start(annotations, ({ spec }) => spec.class.name === 'small');
  await world.changeClass('large');
  await world.pass(9 * MINUTE);
  expect(await reasonOf(world)).toBe('MachineSetUpdated');
  await world.pass(2 * MINUTE);
  expect(await reasonOf(world)).toBe('ProgressDeadlineExceeded');
});

test.each(WAITS.slice(1))(
  'the deadline does not pass during the wait for %s, or after the wait',
  async (_, annotations) => {
    await using world = await start(annotations);
    await world.changeClass('large');
    const reasons = new Set<string | undefined>();
    for (let minute = 0; minute < 240; minute += 1) {
      await world.pass(MINUTE);
      reasons.add(await reasonOf(world));
    }
    expect(await world.sizes()).toBe('large:4 small:0');
    expect([...reasons]).not.toContain('ProgressDeadlineExceeded');
  },
);

test.each([
  ['promotes the rollout', (name: string) => ({ [Annotations.RolloutLastGood]: name })],
  ['removes the canaries', () => ({ [RolloutCanary]: null, [RolloutCanarySoak]: null })],
])('the deadline starts again when a user %s during the soak time', async (_, change) => {
  await using world = await start({ [RolloutCanary]: '1', [RolloutCanarySoak]: '4h' });
  await world.changeClass('large');
  await world.pass(60 * MINUTE);
  const large = (await world.sets()).find(({ spec }) => spec.template.spec.class.name === 'large');
  await world.change({ metadata: { annotations: change(large?.metadata.name ?? '') } });
  const reasons = new Set<string | undefined>();
  for (let step = 0; step < 100; step += 1) {
    await world.pass(0.1);
    reasons.add(await reasonOf(world));
  }
  expect(await world.sizes()).toBe('large:4 small:0');
  expect([...reasons]).not.toContain('ProgressDeadlineExceeded');
});
