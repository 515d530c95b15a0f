import { ArmEndpoint } from '@mcm/cloud-emulators';
import { type ConformanceTarget, SCENARIOS } from '@mcm/conformance';
import { VirtualClock } from '@mcm/kube';
import { createAzureDriver, loadSdk } from '@mcm/provider-azure';
import { test } from 'vitest';
import { configOf, expectScenarioToPass } from './run-scenarios.ts';

// The SDK is loaded first, because loading takes real time and the test uses a virtual clock.
await loadSdk();

const target: ConformanceTarget = {
  name: 'azure',
  openCloud: () => {
    const clock = new VirtualClock();
    const cloud = new ArmEndpoint({ clock, pageSize: 5 });
    return {
      clock,
      connect: () => cloud.transport,
      inventory: () => cloud.ids(),
      runUntil: (done, options) => clock.runUntil(done, options),
    };
  },
  createDriver: (context) =>
    createAzureDriver({
      ...context,
      readFile: async () => undefined,
      authorize: async () => 'Bearer opaque-token-of-the-test',
    }),
  ...configOf('azure'),
};

test.each(SCENARIOS.map(({ name }) => name))('the Azure driver conforms: %s', (name) =>
  expectScenarioToPass(target, name, ['initialize', 'interruption', 'interruption: wait']),
);
