import { noPower } from '@mcm/cloud-emulators';
import { AccountRates } from '@mcm/core';
import { seededRandom, VirtualClock } from '@mcm/kube';
import { loadSdk } from '@mcm/provider-azure';
import { beforeAll, expect, test } from 'vitest';
import { Wire } from './endpoints/wire.ts';
import type { FleetProvider } from './fleet.ts';
import { aws, azure, gcp } from './providers.ts';
import { Stage } from './rows/stage.ts';

/** The drivers of two clusters in one process. */

beforeAll(loadSdk);

type Provider = FleetProvider<unknown, unknown>;

/** Returns the duration of ten creations in the second cluster, after the cloud has throttled the first cluster. */
async function creationMs({ cloud: open, driver, machineClass, secret }: Provider, other: object, shares: boolean) {
  const clock = new VirtualClock({ quietTurns: 8 });
  const cloud = open({ clock, power: noPower });
  const rates = shares ? new AccountRates(clock) : undefined;
  const cluster = (changes: object) => {
    const wire = new Wire(clock, cloud.transport);
    const context = { clock, random: seededRandom(3), connect: wire.connect, rates };
    const base = {
      provider: machineClass.provider ?? '',
      spec: machineClass.providerSpec as object,
      secret: { userData: '#cloud-config', ...secret, ...changes },
    };
    return { wire, stage: new Stage(clock, driver(context), base) };
  };
  const [first, second] = [cluster({}), cluster(other)];
  await second.stage.create({ name: 'm-0' });
  cloud.faults.order({ on: '.', perSecond: 0.2 });
  await first.stage.create({ name: 'm-1' });
  cloud.faults.clear();
  const start = clock.monotonic();
  await Promise.all(Array.from({ length: 10 }, (_, index) => second.stage.create({ name: `n-${index}` })));
  return clock.monotonic() - start;
}

test.each([
  ['AWS', aws, { providerSecretAccessKey: 'other' }],
  ['Azure', azure, { clientSecret: 'other' }],
  ['Google Cloud', gcp, {}],
])(
  'in %s, clusters with the same credentials share the learned rate, and other clusters do not',
  async (cloud, open, other) => {
    // Each provider has its own types of specs and credentials, but this test does not need the types.
    const opened = () => open() as unknown as Provider;
    const own = await creationMs(opened(), {}, false);
    expect(await creationMs(opened(), {}, true)).toBeGreaterThan(own + 1_000);
    if (cloud !== 'Google Cloud') expect(await creationMs(opened(), other, true)).toBe(own);
  },
);
