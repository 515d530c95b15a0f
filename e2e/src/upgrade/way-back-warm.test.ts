import { Annotations, type Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import type { World, WorldOptions } from '../simulation/world/world.ts';
import { type Feature, goAndReturn, HOUR, MINUTE, REPLICAS, untilReplicasRun, warmMachines } from './way-back.ts';

const WARM = 2;

const warmOptions = (state: string): WorldOptions => ({
  annotations: { [Annotations.WarmMachines]: String(WARM), [Annotations.WarmState]: state },
});

const keepsWarm = (world: World): void => {
  world.wantsWarm = WARM;
};

/** The original ignores warm machines, so a scale-up creates a machine. */
const scaleUp = async (world: World): Promise<void> => {
  const warm = (await warmMachines(world)).map(({ metadata }) => metadata.uid);
  expect(warm).toHaveLength(WARM);
  await world.clock.advance(20 * MINUTE);
  await world.change({ replicas: REPLICAS + 1 });
  await untilReplicasRun(world, REPLICAS + 1, 'blue');
  expect((await warmMachines(world)).map(({ metadata }) => metadata.uid)).toEqual(warm);
};

/** Waits until mcm has recorded the power state for a machine. */
const untilPower = async (world: World, power: string): Promise<void> => {
  const has = ({ metadata }: Machine): boolean =>
    metadata.annotations?.[Annotations.WarmPower]?.startsWith(power) === true;
  await world.until(async () => (await world.machines()).some(has));
};

const WARM_MACHINES: Readonly<Record<string, Feature>> = {
  'stopped warm machines': {
    options: warmOptions('Stopped'),
    before: keepsWarm,
    during: scaleUp,
    replicas: REPLICAS + 1,
    creates: 1,
    warm: WARM,
  },
  'running warm machines': {
    options: warmOptions('Running'),
    before: keepsWarm,
    during: scaleUp,
    replicas: REPLICAS + 1,
    creates: 1,
    warm: WARM,
  },
  // The VM of the machine does not run, so the original marks the machine as Failed after the creation timeout.
  'a warm machine that starts': {
    options: warmOptions('Stopped'),
    before: keepsWarm,
    act: async (world) => {
      world.cloud.faults.order({ operation: 'instances.start', error: { code: 'RequestLimitExceeded' } });
      await world.change({ replicas: REPLICAS + 1 });
      await untilPower(world, 'Starting');
    },
    during: (world) => world.clock.advance(HOUR),
    replicas: REPLICAS + 1,
    replaced: 1,
    // mcm has created a new warm machine in place of the used one, and the original creates the VM of the new machine.
    creates: 2,
    warm: WARM,
    replacedLater: 1,
  },
  // The Node of the machine is not Ready, so the original marks the machine as Failed. The machine has no MachineSet,
  // so the original keeps the machine, and mcm replaces the machine later.
  'a warm machine that stops': {
    options: warmOptions('Running'),
    before: keepsWarm,
    act: async (world) => {
      world.cloud.faults.order({ operation: 'instances.stop', timeout: {}, effect: true });
      await world.annotate({ [Annotations.WarmState]: 'Stopped' });
      await untilPower(world, 'Stopping');
    },
    warm: WARM,
    replacedLater: WARM,
  },
};

test.each(Object.entries(WARM_MACHINES))(
  'the original takes a fleet with %s back, and mcm takes over again',
  async (_name, feature) => {
    await goAndReturn(feature);
  },
);
