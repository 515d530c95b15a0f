import { type MachineClass, machineClasses } from '@mcm/api';
import { expect, onTestFinished, test } from 'vitest';
import { NAMESPACE, World } from './world/world.ts';

/** A rollout to a class that was never valid, with the whole system. */

const MINUTE = 60_000;

test.each<[what: string, between: (world: World) => Promise<void>]>([
  ['', async () => undefined],
  [
    ' although the machine controller was killed',
    async (world) => {
      world.kill('machine-controller');
      await world.clock.advance(MINUTE);
    },
  ],
])('a rollback from a class that was never valid completes%s', async (_what, between) => {
  const world = await World.start({ seed: 5 });
  onTestFinished(() => world.close());
  await world.createDeployment(3);
  await world.untilSettled(3, 'blue');
  const classes = world.admin.resource<MachineClass>(machineClasses, NAMESPACE);
  const { provider, providerSpec, secretRef } = await classes.get('blue');
  const odd = { metadata: { name: 'odd', namespace: NAMESPACE }, providerSpec: { ...providerSpec, image: 7 } };
  await classes.create({ ...odd, ...(provider ? { provider } : {}), ...(secretRef ? { secretRef } : {}) });
  await world.change({ template: { spec: { class: { name: 'odd' } } } });
  await world.until(async () =>
    (await world.machines()).some(({ status }) => status?.currentStatus?.phase === 'CrashLoopBackOff'),
  );
  await between(world);
  await world.change({ template: { spec: { class: { name: 'blue' } } } });
  await world.until(async () => (await world.machines()).every(({ spec }) => spec.class.name === 'blue'), 10 * MINUTE);
  await world.untilSettled(3, 'blue');
  expect([world.vmsMade, world.violations]).toEqual([3, []]);
});
