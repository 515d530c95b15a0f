import { MachineError } from '@mcm/core';
import { loadSdk } from '@mcm/provider-azure';
import { beforeAll, expect, test } from 'vitest';
import { azure, gcp } from './providers.ts';
import { type Wired, wired } from './wired.ts';

/** If many machines need a lookup at the same time, they share requests. */

beforeAll(loadSdk);

const NAMES = Array.from({ length: 30 }, (_, i) => `m-${i}`);

const outcome = (work: Promise<{ readonly providerId: string }>): Promise<string> =>
  work.then(
    ({ providerId }) => providerId,
    (thrown: unknown) => MachineError.from(thrown).code,
  );

async function filled<Spec, Credentials>(cloud: Wired<Spec, Credentials>, names = NAMES) {
  const ids = new Map<string, string>();
  for (const name of names) ids.set(name, (await cloud.stage.create({ name })).providerId);
  const sent = countsSince(cloud);
  const look = (name: string) => outcome(cloud.stage.status({ name, providerID: ids.get(name) ?? '' }));
  return { ids, look, sent };
}

function countsSince({ cloud }: { readonly cloud: { readonly counts: ReadonlyMap<string, number> } }) {
  let before = new Map(cloud.counts);
  return (): Readonly<Record<string, number>> => {
    const now = new Map(cloud.counts);
    const sent = [...now].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const);
    before = now;
    return Object.fromEntries(sent.filter(([, count]) => count > 0));
  };
}

test.each([
  ['Azure', () => wired(azure()), { 'GET lists': 1 }],
  ['Google Cloud', () => wired(gcp()), { 'GET instances': 1 }],
])('in %s, 30 lookups at the same time need one request', async (_cloud, open, expected) => {
  const cloud = open() as Wired<unknown, unknown>;
  const { ids, look, sent } = await filled(cloud);
  expect(await Promise.all(NAMES.map(look))).toEqual(NAMES.map((name) => ids.get(name)));
  expect(sent()).toEqual(expected);
});

test('in Azure, one lookup reads one VM, and a VM that the listing lacks is read again', async () => {
  const cloud = wired(azure());
  const { ids, look, sent } = await filled(cloud, NAMES.slice(0, 5));
  expect(await look('m-0')).toBe(ids.get('m-0'));
  expect(sent()).toEqual({ 'GET virtualMachines': 1 });
  await cloud.stage.delete({ name: 'm-1', providerID: ids.get('m-1') ?? '' });
  await cloud.clock.advance(10_000);
  sent();
  const names = NAMES.slice(0, 5);
  expect(await Promise.all(names.map(look))).toEqual(
    names.map((name) => (name === 'm-1' ? 'NotFound' : ids.get(name))),
  );
  expect(sent()).toEqual({ 'GET lists': 1, 'GET virtualMachines': 1 });
});

test('in Azure, a machine without a recorded VM is read directly', async () => {
  const cloud = wired(azure());
  const { ids, sent } = await filled(cloud, NAMES.slice(0, 5));
  const found = await Promise.all(NAMES.slice(0, 5).map((name) => outcome(cloud.stage.status({ name }))));
  expect(found).toEqual(NAMES.slice(0, 5).map((name) => ids.get(name)));
  expect(sent()).toEqual({ 'GET virtualMachines': 5 });
});

test('in Google Cloud, each zone has its own listing, and a lookup never gets an older listing', async () => {
  const cloud = wired(gcp());
  const { ids, look, sent } = await filled(cloud, ['m-0', 'm-1']);
  expect(await Promise.all([look('m-0'), look('m-1')])).toEqual([ids.get('m-0'), ids.get('m-1')]);
  await cloud.stage.delete({ name: 'm-1', providerID: ids.get('m-1') ?? '' });
  sent();
  const other = (ids.get('m-0') ?? '').replace(/\/([^/]+)\/m-0$/, '/elsewhere-b/m-0');
  const elsewhere = outcome(cloud.stage.status({ name: 'm-0', providerID: other }));
  expect(await Promise.all([look('m-0'), look('m-1'), elsewhere])).toEqual([ids.get('m-0'), 'NotFound', 'NotFound']);
  expect(sent()).toEqual({ 'GET instances': 2 });
});
