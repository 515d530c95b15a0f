import type { FaultRuleInput } from '@mcm/cloud-emulators';
import { MachineError } from '@mcm/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inAwsEnvironment } from './aws-environment.ts';
import type { FleetProvider } from './fleet.ts';
import { aws, azure, gcp } from './providers.ts';
import { wired } from './wired.ts';

/** Tests every fault of every emulator. */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
});
afterAll(() => back());

const CLOUDS = {
  aws: aws({ srcAndDstChecksEnabled: true }),
  azure: azure(),
  gcp: gcp(),
} as const;
type Cloud = keyof typeof CLOUDS;
// Each provider has its own types of specs and credentials, but these tests do not need the types.
const providerOf = (name: Cloud) => CLOUDS[name] as unknown as FleetProvider<never, never>;

/** For each cloud, the name by which fault rules select the request that creates a VM. */
const BIRTH: Readonly<Record<Cloud, string>> = {
  aws: '^RunInstances$',
  azure: '^PUT virtualMachines$',
  gcp: '^POST instances$',
};
const DEATH: Readonly<Record<Cloud, string>> = {
  aws: '^TerminateInstances$',
  azure: '^DELETE virtualMachines$',
  gcp: '^DELETE instances$',
};

const refuse = (status: number, code: string, message = code): FaultRuleInput => ({
  on: '',
  refuse: { status, code, message },
});
const fail = (code: string, leave = false): FaultRuleInput => ({ on: '', failOperation: { code, leave } });

const SOON = [undefined, 'Unavailable'] as const;
/** The instance is terminated before its first status request. */
const AT_ONCE = { operationMs: 0 };

const RULES: readonly (readonly [
  cloud: Cloud,
  fault: string,
  rule: Omit<FaultRuleInput, 'on'>,
  code: string | undefined | typeof SOON,
])[] = [
  ['aws', 'throttle', refuse(503, 'RequestLimitExceeded'), SOON],
  ['azure', 'throttle', refuse(429, 'TooManyRequests'), SOON],
  ['gcp', 'throttle', refuse(403, 'rateLimitExceeded', 'Rate Limit Exceeded'), SOON],
  ['aws', 'capacity, at once', refuse(500, 'InsufficientInstanceCapacity'), 'ResourceExhausted'],
  ['aws', 'capacity, at boot', { ...fail('Server.InsufficientInstanceCapacity'), ...AT_ONCE }, 'ResourceExhausted'],
  ['azure', 'capacity', fail('ZonalAllocationFailed'), 'ResourceExhausted'],
  ['gcp', 'capacity', fail('ZONE_RESOURCE_POOL_EXHAUSTED'), 'ResourceExhausted'],
  ['aws', 'quota', refuse(400, 'VcpuLimitExceeded'), 'ResourceExhausted'],
  [
    'azure',
    'quota',
    refuse(409, 'OperationNotAllowed', 'Operation could not be completed as it results in exceeding approved quota'),
    'ResourceExhausted',
  ],
  ['gcp', 'quota', fail('QUOTA_EXCEEDED'), 'ResourceExhausted'],
  ['aws', 'eventual consistency', { visibleAfterMs: 20_000 }, undefined],
  ['azure', 'eventual consistency', { visibleAfterMs: 20_000 }, undefined],
  ['gcp', 'eventual consistency', { visibleAfterMs: 20_000 }, undefined],
  ['aws', 'a lost request', { lose: 'before' }, SOON],
  ['azure', 'a lost request', { lose: 'before' }, SOON],
  ['gcp', 'a lost request', { lose: 'before' }, 'Internal'],
  ['aws', 'a lost answer', { lose: 'after' }, SOON],
  ['azure', 'a lost answer', { lose: 'after' }, SOON],
  ['gcp', 'a lost answer', { lose: 'after' }, 'Internal'],
  ['aws', 'a machine half made', { ...fail('Client.InternalError', true), ...AT_ONCE }, 'Internal'],
  ['azure', 'a machine half made', fail('InternalExecutionError', true), 'Internal'],
  ['gcp', 'a machine half made', fail('INTERNAL_ERROR', true), 'Internal'],
  ['aws', 'a slow operation', { operationMs: 200_000 }, undefined],
  ['azure', 'a slow operation', { operationMs: 200_000 }, undefined],
  ['gcp', 'a slow operation', { operationMs: 200_000 }, undefined],
];

test.each(RULES)('%s: %s', async (name, _fault, rule, code) => {
  const { clock, cloud, stage, left } = wired(providerOf(name));
  cloud.faults.order({ ...rule, on: BIRTH[name], times: 1 });
  const first = await stage.create().then(
    () => undefined,
    (thrown: unknown) => MachineError.from(thrown),
  );
  expect(Array.isArray(code) ? code : [code], first?.message).toContain(first?.code);
  expect(cloud.faults.list()[0]?.met).toBeGreaterThan(0);
  const again = await stage.create();
  const instances = (): readonly string[] => left().filter((each) => each.startsWith('instance'));
  expect(instances()).toEqual(['instance m-1']);
  await clock.advance(60_000);
  expect((await stage.list()).map(({ providerId }) => providerId)).toEqual([again.providerId]);
  await stage.delete({ providerID: again.providerId });
  await clock.advance(300_000);
  expect(left().filter((each) => !(rule.failOperation?.leave && each.startsWith('volume')))).toEqual([]);
});

test.each(['aws', 'azure', 'gcp'] as const)('%s: a deleted VM is still shown for a while', async (name) => {
  const { clock, cloud, stage, left } = wired(providerOf(name));
  const { providerId: providerID } = await stage.create();
  cloud.faults.order({ on: DEATH[name], visibleAfterMs: 120_000 });
  await stage.delete({ providerID });
  expect((await stage.list()).map(({ providerId }) => providerId)).toEqual([providerID]);
  await stage
    .delete({ providerID })
    .catch((thrown: unknown) => expect(MachineError.from(thrown).code).toBe('NotFound'));
  await clock.advance(300_000);
  expect([await stage.list(), left()]).toEqual([[], []]);
});
