import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { createClient } from '../../client/create-client.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import { silentLogger } from '../../log/memory-logger.ts';
import { type ConfigMap, configMaps, namespaces } from '../../types/core.ts';
import { leases } from '../../types/groups.ts';
import { LeaseAnnotations } from '../../types/lease-annotations.ts';
import { LeaseBook } from '../peers/lease-book.ts';
import { LapsedLeases } from './lapsed-leases.ts';
import type { RolloutNeeds } from './permit.ts';
import { RolloutBudget } from './rollout-budget.ts';

const NAME = 'rollouts';
const LEASE = 'manager';
const ROLLS: RolloutNeeds = { wants: true, settled: false, rollout: 'rolling' };
const RESTS: RolloutNeeds = { wants: false, settled: true, rollout: 'none' };

async function setUp(data: Readonly<Record<string, string>> | undefined = { maxClusters: '1' }) {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const plane: ControlPlane = await startControlPlane({ clock, random: () => random.next(), controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const clusters = ['a', 'b', 'c'];
  for (const name of ['fleet', ...clusters]) await client.resource(namespaces).create({ metadata: { name } });
  if (data !== undefined)
    await client.resource<ConfigMap>(configMaps, 'fleet').create({ metadata: { name: NAME }, data });
  const end = new AbortController();
  let writes = 0;
  /** One budget for each replica. */
  const replica = (): RolloutBudget => {
    const counted = createClient({
      transport: (request) => {
        if (request.method === 'PATCH') writes += 1;
        return plane.transport(request);
      },
      userAgent: 'test',
      clock,
    });
    const runtime = { clock, random, log: silentLogger };
    const book = new LeaseBook(client, LEASE, runtime);
    const budget = new RolloutBudget({
      client: counted,
      namespace: 'fleet',
      name: NAME,
      clusters: () => clusters.map((name) => ({ name, labels: undefined })),
      leases: new LapsedLeases({ client, book, lease: LEASE, clock }),
      runtime,
    });
    void book.run(end.signal);
    void budget.run(end.signal);
    return budget;
  };
  const lease = (cluster: string, holder: string) => {
    const spec = { holderIdentity: holder, leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' };
    return client.resource(leases, cluster).create({ metadata: { name: LEASE }, spec });
  };
  const claims = async () => {
    const { metadata } = await client.resource(configMaps, 'fleet').get(NAME);
    const text = metadata.annotations?.[LeaseAnnotations.FleetRollouts];
    return text === undefined ? [] : Object.keys(JSON.parse(text).claims);
  };
  return { clock, client, replica, lease, claims, writes: () => writes, close: () => end.abort() };
}

test('two replicas never give away the same claim, and an idle budget writes nothing', async () => {
  const t = await setUp();
  const [one, two] = [t.replica(), t.replica()];
  await t.clock.advance(1_000);
  const [a, b] = [one.open('a', 'one.1'), two.open('b', 'two.1')];
  const woken: string[] = [];
  b.onChange((rollouts) => woken.push(...rollouts));
  a.report('x', ROLLS);
  b.report('y', ROLLS);
  expect(a.hold()?.asked).toBe(true);
  await t.clock.advance(1_000);
  expect([a.hold(), b.hold()].filter((hold) => hold === undefined)).toHaveLength(1);
  const [first, second] = a.hold() === undefined ? [a, b] : [b, a];
  expect(second.hold()).toEqual({
    asked: false,
    because: 'waiting: other clusters use all claims of the rollout budget (ConfigMap fleet/rollouts)',
  });
  const before = t.writes();
  await t.clock.advance(40_000);
  expect(t.writes()).toBe(before);
  first.report(first === a ? 'x' : 'y', RESTS);
  await t.clock.advance(60_000);
  expect(second.hold()).toBeUndefined();
  expect(first.hold()).toBeDefined();
  expect(await t.claims()).toHaveLength(1);
  if (second === b) expect(woken).toContain('y');
  t.close();
});

test('a claim ends a minute after the Lease of its cluster, but not while a process renews the Lease', async () => {
  const t = await setUp();
  const [one, two] = [t.replica(), t.replica()];
  await t.clock.advance(1_000);
  await t.lease('a', 'one.1');
  const a = one.open('a', 'one.1');
  a.report('x', ROLLS);
  await t.clock.advance(1_000);
  a.close();
  const b = two.open('b', 'two.1');
  b.report('y', ROLLS);
  for (let renewal = 1; renewal < 10; renewal += 1) {
    await t.clock.advance(10_000);
    const spec = { renewTime: `2026-01-01T00:00:0${renewal}.000000Z` };
    await t.client.resource(leases, 'a').patch(LEASE, { type: 'merge', body: { spec } });
  }
  expect(b.hold()).toBeDefined();
  await t.clock.advance(70_000);
  expect(b.hold()).toBeDefined();
  await t.clock.advance(10_000);
  expect(b.hold()).toBeUndefined();
  expect(await t.claims()).toEqual(['b']);
  t.close();
});

test('the claim of a former run allows nothing until the next run has taken it over', async () => {
  const t = await setUp();
  const [one, two] = [t.replica(), t.replica()];
  await t.clock.advance(1_000);
  const former = one.open('a', 'one.1');
  former.report('x', ROLLS);
  await t.clock.advance(1_000);
  expect(former.hold()).toBeUndefined();
  const next = two.open('a', 'two.1');
  expect(next.hold()?.asked).toBe(true);
  former.close();
  next.report('x', ROLLS);
  await t.clock.advance(1_000);
  expect(next.hold()).toBeUndefined();
  expect(former.hold()).toBeDefined();
  t.close();
});

test('a missing or invalid object stops rollouts, and the text names the fix', async () => {
  const t = await setUp({ maxClusters: 'all' });
  const budget = t.replica();
  await t.clock.advance(1_000);
  const a = budget.open('a', 'one.1');
  a.report('x', ROLLS);
  expect(a.hold()?.because).toContain('ConfigMap fleet/rollouts: data.maxClusters must be a number');
  await t.client.resource(configMaps, 'fleet').delete(NAME);
  await t.clock.advance(1_000);
  expect(a.hold()?.because).toContain('ConfigMap fleet/rollouts does not exist');
  await t.client.resource<ConfigMap>(configMaps, 'fleet').create({ metadata: { name: NAME } });
  await t.clock.advance(1_000);
  expect(a.hold()).toBeUndefined();
  t.close();
});
