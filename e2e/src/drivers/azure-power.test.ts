import { MachineError } from '@mcm/core';
import { loadSdk } from '@mcm/provider-azure';
import { beforeAll, expect, test } from 'vitest';
import { azure } from './providers.ts';
import { type Wired, wired } from './wired.ts';

beforeAll(loadSdk);

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'succeeds',
    (thrown: unknown) => MachineError.from(thrown).code,
  );

async function stopped() {
  const cloud = wired(azure());
  await cloud.stage.create();
  await cloud.stage.stop();
  return cloud;
}

const sent = ({ cloud }: Pick<Wired<never, never>, 'cloud'>, request: string): number => cloud.counts.get(request) ?? 0;

test('Azure reports missing capacity at the end of a start, and the VM stays deallocated', async () => {
  const cloud = await stopped();
  cloud.cloud.faults?.order({ on: '^POST start$', times: 1, failOperation: { code: 'AllocationFailed', leave: true } });
  expect(await codeOf(cloud.stage.start())).toBe('ResourceExhausted');
  expect(await cloud.stage.status()).toMatchObject({ ending: 'deallocated' });
  expect(await codeOf(cloud.stage.start())).toBe('succeeds');
  expect(await cloud.stage.status()).toMatchObject({ ending: undefined });
});

test('a stop waits for the deallocation of an earlier process, and sends no second request', async () => {
  const cloud = wired(azure());
  await cloud.stage.create();
  const killed = codeOf(cloud.stage.stop());
  await cloud.clock.advance(1_000);
  expect(await codeOf(cloud.stage.stop())).toBe('succeeds');
  expect(await killed).toBe('succeeds');
  expect(sent(cloud, 'POST deallocate')).toBe(1);
});

test('a stop of a deallocated VM and a start of a running VM send no request', async () => {
  const cloud = await stopped();
  await cloud.stage.stop();
  await cloud.stage.start();
  await cloud.stage.start();
  expect([sent(cloud, 'POST deallocate'), sent(cloud, 'POST start')]).toEqual([1, 1]);
});
