import { Fleet } from '../../drivers/fleet.ts';
import { azure } from '../../drivers/providers.ts';
import { atMost, type Figure } from './figure.ts';

/** Measures how fast machines are deleted while many machines are created. */

const DELETIONS = 100;
const CREATIONS = 500;
const PER_SECOND = 5;
const DAY_MS = 86_400_000;

async function deleted(creations: number): Promise<number> {
  const fleet = await Fleet.start(azure());
  try {
    await fleet.make(DELETIONS, 'old');
    await fleet.untilRunning(DELETIONS);
    fleet.cloud.faults.order({ on: '^(PUT|DELETE|PATCH) ', perSecond: PER_SECOND });
    await fleet.make(creations, 'new');
    await fleet.deleteAll('old');
    return (await fleet.untilGone(DAY_MS, 'old')) / 1_000;
  } finally {
    await fleet.close();
  }
}

/** Measures whether creations delay deletions. */
export async function* laneFigures(): AsyncGenerator<Figure> {
  const alone = await deleted(0);
  const together = await deleted(CREATIONS);
  yield atMost(
    `time of ${DELETIONS} deletions during ${CREATIONS} creations at ${PER_SECOND} calls per second, as a multiple of the time without creations`,
    together / alone,
    1.2,
    '×',
    `the deletions take ${together.toFixed(0)} s during creations, and ${alone.toFixed(0)} s without creations`,
  );
}
