import { Annotations, type Machine } from '@mcm/api';
import { zoneOfferingOf } from '../../driver/offerings/alternative.ts';
import { type StartPlane, World, type WorldOptions } from './world.ts';

export const ZONE_LIST = JSON.stringify([{ zone: 'a' }, { zone: 'b', subnet: 'sb' }, { zone: 'c' }]);

export async function startZoned(
  startPlane: StartPlane,
  replicas: number,
  spec: object = {},
  options: WorldOptions = {},
): Promise<World> {
  const world = await World.start(startPlane, options);
  await world.deploy(replicas, spec, { annotations: { [Annotations.Zones]: ZONE_LIST } });
  await world.until(() => world.complete(), 600);
  await world.pass(5);
  return world;
}

export const zoneOf = (machine: Machine) => zoneOfferingOf(machine)?.zone ?? 'none';

/**
 * Returns the machines that are not being deleted. Tests call `staying` in each step, so `staying` reads a cache that
 * has no delay.
 */
export const staying = (world: World): readonly Machine[] =>
  world.truth.store.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);

export const inZone = (world: World, zone: string) => staying(world).filter((one) => zoneOf(one) === zone);

export const zoneCounts = (world: World): readonly number[] =>
  ['a', 'b', 'c'].map((zone) => inZone(world, zone).length);

export const annotate = (world: World, annotations: Record<string, string | null>) =>
  world.change({ metadata: { annotations } });
