import { BlockedDrains } from './blocked-drains.ts';
import { emptyZoneFigures } from './empty-zone.ts';
import { atMost, type Figure } from './figure.ts';
import { fleetFigures, podMemory } from './fleet.ts';
import { IdleFleet } from './idle-fleet.ts';
import { interruptionFigures } from './interruptions.ts';
import { laneFigures } from './lanes.ts';
import { warmFigures } from './warm.ts';

/** Yields all figures about machines, drains and nodes. */
export async function* machineFigures(): AsyncGenerator<Figure> {
  yield* BlockedDrains.figures();
  const { podCount, rssMb } = await podMemory(20_000);
  yield atMost(`memory (RSS) of a machine controller that watches ${podCount} pods`, rssMb, 200, 'MB');
  yield* emptyZoneFigures();
  yield* interruptionFigures();
  yield* warmFigures();
  yield* laneFigures();
  yield* IdleFleet.figures();
  for await (const { work, counts, machines } of fleetFigures(100, { roll: false, idle: false })) {
    const dies = work.endsWith('→ 0');
    // The controllers write the finalizer and the first event of the class only once for the whole fleet.
    const name = dies
      ? 'write requests of both controllers during the deletion of a machine'
      : 'write requests of both controllers during the creation of a machine';
    yield atMost(name, counts.writes / machines, 8, 'writes', dies ? '' : '6, and 2 for the bootstrap token');
  }
}
