import { afterAll, beforeAll, expect, test } from 'vitest';
import { inAwsEnvironment } from './aws-environment.ts';
import type { FleetProvider } from './fleet.ts';
import { aws, azure, gcp } from './providers.ts';
import { wired } from './wired.ts';

/** With slow or throttling clouds, a creation takes long, but succeeds and creates only one VM. */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

test.each<[string, FleetProvider<never, never>]>([
  ['aws', aws({ srcAndDstChecksEnabled: true }) as never],
  ['azure', azure() as never],
  ['gcp', gcp() as never],
])('%s: answers are late, and only a few calls per second are allowed', async (_name, provider) => {
  const slow = wired(provider);
  slow.cloud.faults.order({ on: '.', delayMs: 8_000, times: 1 });
  const start = slow.clock.monotonic();
  await slow.stage.create();
  expect(slow.clock.monotonic() - start).toBeGreaterThanOrEqual(8_000);

  const throttled = wired(provider);
  throttled.cloud.faults.order({ on: '.', perSecond: 0.2 });
  await throttled.stage.create();
  expect(throttled.cloud.faults.list()[0]?.met).toBeGreaterThan(0);
  for (const { left } of [slow, throttled])
    expect(left().filter((each) => each.startsWith('instance'))).toEqual(['instance m-1']);
});

test.each<[string, string, FleetProvider<never, never>]>([
  ['azure', '^PUT virtualMachines$', azure() as never],
  ['gcp', '^POST instances$', gcp() as never],
])('%s: the driver waits for a slow operation', async (_name, on, provider) => {
  const { cloud, clock, stage } = wired(provider);
  cloud.faults.order({ on, operationMs: 200_000 });
  const start = clock.monotonic();
  await stage.create();
  expect(clock.monotonic() - start).toBeGreaterThanOrEqual(200_000);
  expect(cloud.resources().find(({ kind }) => kind === 'instance')?.state).toMatch(/Succeeded|RUNNING/);
});
