import { readFileSync } from 'node:fs';
import type { DriverContext } from '@mcm/core';
import { expect, test } from 'vitest';
import { openSlowCloud } from '../examples/slow-cloud.ts';
import { createDriver } from '../examples/slow-driver.ts';
import { readConfig } from './config.ts';
import { runConformance } from './run.ts';
import type { ConformanceTarget, CreateDriver, World } from './stage/target.ts';

const config = readConfig('slow.yaml', readFileSync(new URL('../examples/slow.yaml', import.meta.url), 'utf8'), {});

const target = (openCloud: () => World, make: CreateDriver = createDriver as CreateDriver): ConformanceTarget => ({
  name: 'slow',
  createDriver: make,
  openCloud,
  ...config,
});

/** More runs find no more errors, and each run takes seconds. */
const RUNS = 3;
const SKIPPED = [
  'alternatives',
  "no adoption of another control cluster's VM",
  'initialize',
  'stop and start',
  'stop: deletion',
  'start: capacity',
  'interruption',
  'interruption: wait',
];

test.each(Array.from({ length: RUNS }, (_, run) => run))(
  'a correct driver passes with random readiness times: run %i',
  async (run) => {
    let seed = run * 1_000;
    const { outcomes } = await runConformance(
      target(() => openSlowCloud(seed++)),
      { seed: run },
    );
    expect(outcomes.filter(({ state }) => state === 'failed').map(({ scenario, why }) => [scenario.name, why])).toEqual(
      [],
    );
    expect(outcomes.filter(({ state }) => state === 'skipped').map(({ scenario }) => scenario.name)).toEqual(SKIPPED);
  },
);

/** This driver assumes that the cloud deletes disks with their servers, so it does not list disks. */
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
    why: expect.stringMatching(/these resources remain: disks\/ours\//),
  });
});
