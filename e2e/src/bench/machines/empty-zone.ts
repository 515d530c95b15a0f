import { Annotations } from '@mcm/api';
import { inAwsEnvironment } from '../../drivers/aws-environment.ts';
import { Fleet } from '../../drivers/fleet.ts';
import { aws } from '../../drivers/providers.ts';
import { atMost, type Figure } from './figure.ts';

/** Measures the creation of machines if the first zone of their class has no capacity. */

const MACHINES = 200;
const PER_SECOND = 5;
const MINUTE = 60_000;
const PROBE_MINUTES = 10;
const ROUNDS = 12;
const ROUND_MINUTES = 5;

const ALTERNATIVES = [
  { subnet: 'subnet-b', zone: 'eu-north-1b' },
  { subnet: 'subnet-c', zone: 'eu-north-1c' },
];

/** Creates a fleet on a simulated cloud that limits the rate of requests. */
async function open(isEmpty: boolean): Promise<{ readonly fleet: Fleet; readonly refused: () => number }> {
  const annotations = { [Annotations.CapacityAlternatives]: JSON.stringify(ALTERNATIVES) };
  const fleet = await Fleet.start(isEmpty ? { ...aws(), annotations } : aws());
  const { faults } = fleet.cloud;
  faults.order({ on: '^RunInstances$', perSecond: PER_SECOND });
  const refuse = { status: 500, code: 'InsufficientInstanceCapacity' };
  const rule = isEmpty ? faults.order({ on: '^RunInstances$', body: 'SubnetId=subnet-a', refuse }) : undefined;
  return { fleet, refused: () => faults.list().find(({ id }) => id === rule)?.met ?? 0 };
}

const filled = async (fleet: Fleet): Promise<number> => {
  await fleet.make(MACHINES);
  return (await fleet.untilRunning(MACHINES)) / 1_000;
};

/** Measures how fast {@link MACHINES} machines get VMs if they use the capacity alternatives of their class. */
export async function* emptyZoneFigures(): AsyncGenerator<Figure> {
  const back = await inAwsEnvironment();
  const ample = await open(false);
  const short = await open(true);
  try {
    const name = `${MACHINES} machines while one of three zones has no capacity`;
    const allowed = await filled(ample.fleet);
    const seconds = await filled(short.fleet);
    yield atMost(`${name}: refused calls`, short.refused(), 1, 'calls');
    const note = `${seconds.toFixed(0)} s, compared with ${allowed.toFixed(0)} s if all zones have capacity`;
    yield atMost(
      `${name}: creation time as a multiple of the time with capacity in all zones`,
      seconds / allowed,
      1.2,
      '×',
      note,
    );
    for (let round = 1; round <= ROUNDS; round += 1) {
      await short.fleet.make(3, `round-${round}`);
      await short.fleet.untilRunning(MACHINES + 3 * round);
      await short.fleet.clock.advance(ROUND_MINUTES * MINUTE);
    }
    const intervals = (ROUNDS * ROUND_MINUTES) / PROBE_MINUTES;
    yield atMost(
      `${name}, three new machines every ${ROUND_MINUTES} min for an hour`,
      short.refused(),
      1 + intervals,
      'refused calls',
    );
  } finally {
    await Promise.all([ample.fleet.close(), short.fleet.close()]);
    back();
  }
}
