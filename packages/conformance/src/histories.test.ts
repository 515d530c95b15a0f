import { readFileSync } from 'node:fs';
import { type DriverContext, type DriverDefinition, defineDriver } from '@mcm/core';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { openToyCloud } from '../examples/toy-cloud.ts';
import { createDriver } from '../examples/toy-driver.ts';
import { conformanceConfig } from './config.ts';
import { runConformance } from './run.ts';
import type { CreateDriver } from './stage/target.ts';

const config = conformanceConfig.parse(parse(readFileSync(new URL('../examples/toy.yaml', import.meta.url), 'utf8')));
type Toy = ReturnType<typeof createDriver>;

const spoilt = (change: (toy: Toy) => Partial<Toy>): CreateDriver =>
  ((context: DriverContext) => {
    const toy = createDriver(context);
    return defineDriver({ ...toy, ...change(toy) } as DriverDefinition<never, never>);
  }) as CreateDriver;

const play = (make: CreateDriver, histories: number) =>
  runConformance(
    { ...config, name: 'toy', createDriver: make, openCloud: openToyCloud },
    { only: 'no scenario has this name', histories, seed: 100 },
  );

test('the driver of the example passes all random histories, and one seed always gives one result', async () => {
  const first = await play(createDriver as CreateDriver, 40);
  expect(first.outcomes.filter(({ state }) => state !== 'passed')).toEqual([]);
  expect(first.outcomes.map(({ scenario }) => scenario.name).slice(0, 2)).toEqual([
    'random history 100',
    'random history 101',
  ]);
});

let tokens = 0;

/** Each create request contains a new token, so the cloud does not recognize a repeated request. */
const withFreshTokens = (context: DriverContext): DriverContext => ({
  ...context,
  connect: (origin) => {
    const below = context.connect(origin);
    return (request) => {
      if (!request.body) return below(request);
      return below({ ...request, body: JSON.stringify({ ...JSON.parse(request.body), token: `t-${++tokens}` }) });
    };
  },
});

test.each<[what: string, make: CreateDriver, why: RegExp]>([
  [
    'creates a second VM after a lost answer',
    ((context: DriverContext) => {
      const { status: _status, ...toy } = createDriver(withFreshTokens(context));
      return defineDriver(toy as never);
    }) as CreateDriver,
    /remain|had VM|must contain/,
  ],
  [
    'deletes nothing without a provider ID',
    spoilt((toy) => ({
      delete: (async (request: { machine: { spec: { providerID?: string } } }) =>
        request.machine.spec.providerID ? toy.delete(request as never) : undefined) as never,
    })),
    /remain|must contain/,
  ],
])('a driver that %s fails', async (_what, make, why) => {
  const { outcomes } = await play(make, 40);
  const failed = outcomes.filter(({ state }) => state === 'failed');
  expect(failed.length).toBeGreaterThan(0);
  for (const { why: text } of failed) expect(text).toMatch(why);
});
