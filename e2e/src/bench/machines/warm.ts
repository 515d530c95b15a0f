import { Annotations } from '@mcm/api';
import { World } from '../../simulation/world/world.ts';
import { atMost, type Figure } from './figure.ts';

/** Measures a scale-up with and without warm machines, in a simulation of the whole system. */

const MACHINES = 50;
const FIRST_BOOT_MS = 120_000;

async function scaledUp(warm: number): Promise<number> {
  const annotations = { [Annotations.WarmMachines]: String(warm) };
  const world = await World.start({ kubelets: { joinDelay: FIRST_BOOT_MS }, annotations });
  try {
    world.wantsWarm = warm;
    await world.createDeployment(1);
    await world.untilSettled(1, 'blue');
    const since = world.clock.now().getTime();
    await world.change({ replicas: 1 + MACHINES });
    await world.until(async () => {
      const all = await world.machines();
      return all.filter(({ status }) => status?.currentStatus?.phase === 'Running').length >= 1 + MACHINES;
    });
    return (world.clock.now().getTime() - since) / 1_000;
  } finally {
    await world.close();
  }
}

export async function* warmFigures(): AsyncGenerator<Figure> {
  const cold = await scaledUp(0);
  const warm = await scaledUp(MACHINES);
  yield atMost(
    `time of a scale-up until ${MACHINES} warm machines are Running`,
    warm,
    20,
    's',
    `without warm machines: ${cold.toFixed(0)} s, including ${FIRST_BOOT_MS / 1_000} s for the first boot of each VM`,
  );
}
