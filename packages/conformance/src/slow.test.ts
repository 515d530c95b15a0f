import { readFileSync } from 'node:fs';
import type { DriverContext } from '@mcm/core';
import { expect, test } from 'vitest';
import { openSlowCloud } from '../examples/slow-cloud.ts';
import { createDriver } from '../examples/slow-driver.ts';
import { readConfig } from './config.ts';
import { type Report, runConformance } from './run.ts';
import type { ConformanceTarget, CreateDriver, World } from './stage/target.ts';

const config = readConfig('slow.yaml', readFileSync(new URL('../examples/slow.yaml', import.meta.url), 'utf8'), {});

const target = (openCloud: () => World, make: CreateDriver = createDriver as CreateDriver): ConformanceTarget => ({
  name: 'slow',
  createDriver: make,
  openCloud,
  ...config,
});

const RUNS = 3;
const SKIPPED = [
  'alternatives',
  "no adoption of another control cluster's VM",
  'initialize',
  'stop and start',
  'stop: deletion',
  'start: capacity',
  'tag',
  'tag: two changes at the same time',
  'tag: lost responses',
  'tag: deletion',
  'interruption',
  'interruption: wait',
];

const failuresOf = ({ outcomes }: Report) =>
  outcomes.filter(({ state }) => state === 'failed').map(({ scenario, why }) => [scenario.name, why]);

test.each(Array.from({ length: RUNS }, (_, run) => run))(
  'a correct driver passes with random readiness times: run %i',
  async (run) => {
    let seed = run * 1_000;
    const report = await runConformance(
      target(() => openSlowCloud(seed++)),
      { seed: run },
    );
    expect(failuresOf(report)).toEqual([]);
    const skipped = report.outcomes.filter(({ state }) => state === 'skipped');
    expect(skipped.map(({ scenario }) => scenario.name)).toEqual(SKIPPED);
  },
);

test.each([1, 2])(
  'a correct driver passes if VMs and disks appear only at the end of their creation: run %i',
  async (run) => {
    let seed = run * 1_000;
    const report = await runConformance(
      target(() => openSlowCloud(seed++, undefined, true)),
      { seed: run },
    );
    expect(failuresOf(report)).toEqual([]);
  },
);

/** Wraps a driver so that its list omits a VM for ten seconds after the creation of the VM. */
const lagging = ((context: DriverContext) => {
  const driver = createDriver(context);
  const seen = new Map<string, number>();
  const now = (): number => context.clock.monotonic();
  return {
    ...driver,
    create: async (request: Parameters<typeof driver.create>[0]) => {
      const made = await driver.create(request);
      seen.set(made.providerId, seen.get(made.providerId) ?? now());
      return made;
    },
    list: async (request: Parameters<NonNullable<typeof driver.list>>[0]) =>
      (await driver.list?.(request))?.filter(({ providerId }) => now() - (seen.get(providerId) ?? 0) >= 10_000),
  };
}) as unknown as CreateDriver;

test('a correct driver passes if the list of its cloud contains new VMs late', async () => {
  const report = await runConformance(target(openSlowCloud, lagging), { seed: 1 });
  expect(failuresOf(report)).toEqual([]);
});

const leaking = ((context: DriverContext) => {
  const gone = new Set<string>();
  const connect: DriverContext['connect'] = (origin) => {
    const below = context.connect(origin);
    return (request) => {
      const { method, path } = request;
      if (path.startsWith('/disks?')) return below({ ...request, path: path.replace('cluster=ours', 'cluster=none') });
      if (method === 'DELETE' && path.startsWith('/disks')) gone.add(path);
      if (gone.has(path))
        return below({ ...request, method: 'GET', path: method === 'DELETE' ? path : `${path}-gone` });
      return below(request);
    };
  };
  return createDriver({ ...context, connect });
}) as CreateDriver;

test('an inventory of the driver’s module finds disks that a deletion leaves', async () => {
  const cloud = openSlowCloud(1);
  const { inventory, ...overTheNetwork } = cloud;
  const seen: string[] = [];
  const report = await runConformance(
    {
      ...target(() => overTheNetwork, leaking),
      inventory: ({ secret, providerSpec }) => {
        seen.push(`${secret.token} ${providerSpec.cluster}`);
        return inventory();
      },
    },
    { only: 'deletion' },
  );
  expect(new Set(seen)).toEqual(new Set(['slow-token ours']));
  expect(report.outcomes[0]).toMatchObject({
    state: 'failed',
    why: expect.stringMatching(/these resources remain in the cloud: disks\/ours\//),
  });
});
