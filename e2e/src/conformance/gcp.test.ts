import { GceEndpoint } from '@mcm/cloud-emulators';
import { type ConformanceTarget, SCENARIOS } from '@mcm/conformance';
import { undiciTransport, VirtualClock } from '@mcm/kube';
import { createGcpDriver } from '@mcm/provider-gcp';
import { describe, test } from 'vitest';
import { quickClock } from './network/quick-clock.ts';
import { configOf, expectScenariosToPass, expectScenarioToPass, GCP_KEYS } from './run-scenarios.ts';

const driver: Pick<ConformanceTarget, 'createDriver'> = {
  createDriver: (context) =>
    createGcpDriver({
      ...context,
      readFile: async () => undefined,
      authorize: async () => 'Bearer opaque-token-of-the-test',
    }),
};

const target: ConformanceTarget = {
  name: 'gcp',
  openCloud: () => {
    const clock = new VirtualClock();
    const cloud = new GceEndpoint({ clock, pageSize: 5 });
    return {
      clock,
      connect: () => cloud.transport,
      inventory: () => cloud.names(),
      runUntil: (done, options) => clock.runUntil(done, options),
    };
  },
  ...driver,
  ...configOf('gcp', GCP_KEYS),
};

test.each(SCENARIOS.map(({ name }) => name))('the GCP driver conforms: %s', (name) =>
  expectScenarioToPass(target, name, ['initialize', 'interruption', 'interruption: wait']),
);

/** Uses a gcplocal server as the Compute Engine API: `MCM_GCPLOCAL_URL=http://127.0.0.1:8400`. */
const { MCM_GCPLOCAL_URL: server } = process.env;

describe.skipIf(!server)('on gcplocal', () => {
  test('the GCP driver conforms on gcplocal', { timeout: 600_000 }, () =>
    expectScenariosToPass(
      {
        name: 'gcp on gcplocal',
        openCloud: () => {
          const { clock, watch } = quickClock();
          return { clock, connect: watch(() => undiciTransport({ server: server ?? '' })) };
        },
        ...driver,
        ...configOf('gcp', GCP_KEYS),
        machines: 3,
        listed: 3,
      },
      // The driver has no `initialize` and no notices, and gcplocal returns all instances on one page.
      { skipped: ['initialize', 'the list contains the VMs of all pages', 'interruption', 'interruption: wait'] },
    ),
  );
});
