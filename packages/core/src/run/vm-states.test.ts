import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import type { Rig } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const MINUTE = 60_000;

async function outage(count: number, recordVmStates = true, before = (_rig: Rig): void => undefined): Promise<Rig> {
  const { rig } = await createRig({ controller: { recordVmStates } });
  await rig.createClass();
  rig.start();
  for (let i = 0; i < count; i++) await rig.createMachine(`m-${i}`);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  before(rig);
  const since = rig.clock.now().toISOString();
  const lost = [{ type: 'Ready', status: 'Unknown' as const, reason: 'Test', lastTransitionTime: since }];
  for (let i = 0; i < count; i++) await rig.conditions(`m-${i}`, lost);
  return rig;
}

const statesOf = async (rig: Rig): Promise<readonly (string | undefined)[]> =>
  (await rig.machines()).map((m) => m.metadata.annotations?.[Annotations.VmState]?.split(' ')[1]);

test('while a circuit breaker is open, the state of each VM is looked up once', async () => {
  const rig = await outage(4);
  rig.cloud.lose('m-0');
  const stopped = rig.cloud.vms.find(({ machineName }) => machineName === 'm-1');
  if (stopped) stopped.ending = 'stopped';
  await rig.clock.advance(15 * MINUTE);
  expect(await statesOf(rig)).toEqual(['gone', 'ended', 'exists', 'exists']);
  const calls = rig.cloud.calls.status;
  await rig.clock.advance(120 * MINUTE);
  expect(rig.cloud.calls.status).toBe(calls);
  expect((await rig.machines()).map((m) => m.status?.currentStatus?.phase)).toEqual([
    'Unknown',
    'Unknown',
    'Unknown',
    'Unknown',
  ]);
});

test('without the flag, no VM is looked up', async () => {
  const rig = await outage(4, false);
  const calls = rig.cloud.calls.status;
  await rig.clock.advance(20 * MINUTE);
  expect(rig.cloud.calls.status).toBe(calls);
  expect(await statesOf(rig)).toEqual([undefined, undefined, undefined, undefined]);
});

test('at most 20 VMs of a large outage are looked up in an hour', async () => {
  const rig = await outage(25);
  await rig.clock.advance(30 * MINUTE);
  const states = await statesOf(rig);
  expect(states.filter((state) => state === 'exists')).toHaveLength(20);
});

test('an error of the cloud is recorded, and the lookup is not repeated', async () => {
  const failures = Array.from({ length: 4 }, () => ({ code: 'Unavailable' }) as const);
  const rig = await outage(4, true, ({ cloud }) => cloud.fail('status', ...failures));
  await rig.clock.advance(15 * MINUTE);
  expect(await statesOf(rig)).toEqual(['unknown', 'unknown', 'unknown', 'unknown']);
});
