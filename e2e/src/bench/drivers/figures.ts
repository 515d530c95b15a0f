import { inAwsEnvironment } from '../../drivers/aws-environment.ts';
import { Fleet, type FleetProvider } from '../../drivers/fleet.ts';
import { aws, azure, gcp } from '../../drivers/providers.ts';
import { atMost, type Figure, reported } from '../machines/figure.ts';
import { memoryOfBinaries } from './memory.ts';

const AWS_WRITES = /^(RunInstances|TerminateInstances|ModifyNetworkInterfaceAttribute|AssignIpv6Addresses)$/;
const AWS_READS = /^Describe/;
const PER_SECOND = 5;

const sum = (counts: Readonly<Record<string, number>>, pattern: RegExp): number =>
  Object.entries(counts).reduce((all, [name, count]) => all + (pattern.test(name) ? count : 0), 0);

const minus = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(a).map(([name, count]) => [name, count - (b[name] ?? 0)]));

async function on<T, Spec, Credentials>(
  provider: FleetProvider<Spec, Credentials>,
  work: (fleet: Fleet) => Promise<T>,
): Promise<T> {
  const fleet = await Fleet.start(provider);
  try {
    return await work(fleet);
  } finally {
    await fleet.close();
  }
}

/** Counts calls to the cloud during the creation of a fleet, during its deletion, and while the fleet is idle. */
async function* lives(machines: number): AsyncGenerator<Figure> {
  const { life, idle } = await on(aws(), async (fleet) => {
    await fleet.make(machines);
    await fleet.untilRunning(machines);
    const born = fleet.counts();
    await fleet.clock.advance(60 * 60_000);
    const rested = fleet.counts();
    await fleet.deleteAll();
    await fleet.untilGone();
    return { life: minus(fleet.counts(), minus(rested, born)), idle: minus(rested, born) };
  });
  const one = await on(aws(), async (fleet) => {
    await fleet.make(1, 'warm');
    await fleet.untilRunning(1);
    const before = fleet.counts();
    await fleet.make(1, 'one');
    await fleet.untilRunning(2);
    return minus(fleet.counts(), before);
  });
  yield atMost(
    'AWS: write requests from the creation to the deletion of a machine',
    sum(life, AWS_WRITES) / machines,
    4,
    'calls',
  );
  yield atMost(
    `AWS: read requests from the creation to the deletion of each of ${machines} machines`,
    sum(life, AWS_READS) / machines,
    1,
    'calls',
  );
  yield atMost(
    'AWS: read requests during the creation of one machine',
    sum(one, AWS_READS),
    2,
    'calls',
    'one request searches for a VM with the name of the machine',
  );
  yield atMost(
    `AWS: requests for ${machines} machines in an hour without changes`,
    sum(idle, /./),
    4,
    'calls',
    'the controller lists the VMs every 15 min',
  );
  for (const [name, provider] of [
    ['Azure', azure()],
    ['GCP', gcp()],
  ] as const) {
    const calls = await on(provider as FleetProvider<unknown, unknown>, async (fleet) => {
      await fleet.make(20);
      await fleet.untilRunning(20);
      const born = fleet.counts();
      await fleet.clock.advance(60 * 60_000);
      const rested = minus(fleet.counts(), born);
      return { born: sum(born, /./) / 20, rested: sum(rested, /./) };
    });
    yield reported(`${name}: requests during the creation of one machine`, calls.born, 'calls');
    yield atMost(
      `${name}: requests for 20 machines in an hour without changes`,
      calls.rested,
      4,
      'calls',
      'the controller lists the VMs every 15 min',
    );
  }
}

const OTHERS = [
  ['Azure', azure() as FleetProvider<unknown, unknown>, '^PUT virtualMachines$', () => 1],
  [
    'GCP',
    gcp() as FleetProvider<unknown, unknown>,
    '^POST instances$',
    (machines: number) => Math.ceil(machines / 500),
  ],
] as const;

/**
 * Counts the list calls of an idle fleet between two searches for orphans.
 * @param elsewhere The number of machines on each cloud except AWS.
 */
async function* idle(onAws: number, elsewhere: number): AsyncGenerator<Figure> {
  const clouds = [['AWS', aws() as FleetProvider<unknown, unknown>, '', () => 1] as const, ...OTHERS];
  for (const [name, provider, , pagesOf] of clouds) {
    const machines = name === 'AWS' ? onAws : elsewhere;
    const calls = await on(provider, async (fleet) => {
      await fleet.make(machines);
      await fleet.untilRunning(machines);
      const before = fleet.counts();
      await fleet.clock.advance(15 * 60_000);
      return minus(fleet.counts(), before);
    });
    const pages = pagesOf(machines);
    const note = pages > 1 ? `${pages} pages` : '';
    yield atMost(
      `${name}: requests for ${machines} idle machines in one orphan period`,
      sum(calls, /./) / pages,
      1,
      'listings',
      note,
    );
  }
}

/** Creates many machines while the cloud limits the rate of requests. */
async function* throttled(machines: number): AsyncGenerator<Figure> {
  const { ms, counts, refused } = await on(
    aws({ networkInterfaces: PLAIN, srcAndDstChecksEnabled: true }),
    async (fleet) => {
      fleet.cloud.faults.order({ on: '.', perSecond: PER_SECOND });
      await fleet.make(machines);
      const took = await fleet.untilRunning(machines);
      return { ms: took, counts: fleet.counts(), refused: fleet.cloud.faults.list()[0]?.met ?? 0 };
    },
  );
  // A machine needs one request for its launch.
  const limit = machines / PER_SECOND;
  yield atMost(
    `AWS: time to create ${machines} machines with a limit of ${PER_SECOND} requests per second`,
    ms / 1_000 / limit,
    1.5,
    '× the limit’s own time',
    `${(ms / 1_000).toFixed(0)} s, ${sum(counts, /./)} calls; ${refused} refused`,
  );
}

const PLAIN = [{ subnetID: 'subnet-a', securityGroupIDs: ['sg-1'] }];

/** Creates many machines of a class whose zone has no capacity. */
async function* exhausted(machines: number): AsyncGenerator<Figure> {
  const { first, hour } = await on(aws({ networkInterfaces: PLAIN, srcAndDstChecksEnabled: true }), async (fleet) => {
    fleet.cloud.faults.order({ on: '^RunInstances$', refuse: { status: 500, code: 'InsufficientInstanceCapacity' } });
    const launches = (): number => fleet.cloud.faults.list()[0]?.met ?? 0;
    await fleet.make(1, 'first');
    await fleet.clock.advance(60_000);
    await fleet.make(machines);
    await fleet.clock.advance(60_000);
    const before = launches();
    await fleet.clock.advance(60 * 60_000);
    return { first: before, hour: launches() - before };
  });
  yield atMost(`AWS: create requests for ${machines} machines in a zone without capacity`, first, 1, 'calls');
  yield atMost('AWS: create requests per hour in the zone without capacity', hour, 6, 'calls');
}

async function* throttledElsewhere(machines: number): AsyncGenerator<Figure> {
  for (const [name, provider] of OTHERS) {
    const { ms, calls, refused } = await on(provider, async (fleet) => {
      fleet.cloud.faults.order({ on: '.', perSecond: PER_SECOND });
      await fleet.make(machines);
      const took = await fleet.untilRunning(machines);
      return { ms: took, calls: sum(fleet.counts(), /./), refused: fleet.cloud.faults.list()[0]?.met ?? 0 };
    });
    yield atMost(
      `${name}: time to create ${machines} machines with a limit of ${PER_SECOND} requests per second`,
      ms / 1_000 / (calls / PER_SECOND),
      1.5,
      '× the limit’s own time',
      `${(ms / 1_000).toFixed(0)} s, ${calls} calls; ${refused} refused`,
    );
  }
}

/** Creates many machines of a class whose zone has no capacity. */
async function* exhaustedElsewhere(machines: number): AsyncGenerator<Figure> {
  const codes = { Azure: 'ZonalAllocationFailed', GCP: 'ZONE_RESOURCE_POOL_EXHAUSTED' } as const;
  for (const [name, provider, launch] of OTHERS) {
    const { first, hour, left } = await on(provider, async (fleet) => {
      fleet.cloud.faults.order({ on: launch, failOperation: { code: codes[name] } });
      const launches = (): number => fleet.cloud.faults.list()[0]?.met ?? 0;
      await fleet.make(1, 'first');
      await fleet.clock.advance(5 * 60_000);
      await fleet.make(machines);
      await fleet.clock.advance(60_000);
      const before = launches();
      await fleet.clock.advance(60 * 60_000);
      return { first: before, hour: launches() - before, left: fleet.cloud.resources().length };
    });
    yield atMost(`${name}: create requests for ${machines} machines in a zone without capacity`, first, 1, 'calls');
    yield atMost(
      `${name}: create requests per hour in the zone without capacity`,
      hour,
      6,
      'calls',
      `${left} resources remain in the cloud`,
    );
  }
}

export async function* driverFigures(): AsyncGenerator<Figure> {
  const back = await inAwsEnvironment();
  try {
    yield* lives(100);
    yield* throttled(200);
    yield* throttledElsewhere(200);
    yield* exhausted(200);
    yield* exhaustedElsewhere(200);
    yield* idle(1_000, 300);
    yield* memoryOfBinaries(150);
  } finally {
    back();
  }
}
