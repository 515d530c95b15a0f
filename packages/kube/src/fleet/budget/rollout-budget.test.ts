import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { createClient } from '../../client/create-client.ts';
import { isWatch } from '../../client/paths.ts';
import { sleep } from '../../clock/clock.ts';
import { VirtualClock } from '../../clock/virtual-clock.ts';
import type { Transport } from '../../contract/transport.ts';
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
  let losesAnswer = false;
  const late = async function* (chunks: AsyncIterable<Uint8Array>, lagMs: number) {
    for await (const chunk of chunks) {
      await sleep(clock, 2 * lagMs);
      yield chunk;
    }
  };
  const replica = (lagMs = 0): RolloutBudget => {
    const transport: Transport = async (request) => {
      if (request.method === 'PATCH') {
        writes += 1;
        if (lagMs > 0) await sleep(clock, lagMs);
      }
      const answer = await plane.transport(request);
      if (request.method === 'PATCH' && losesAnswer) throw new Error('read ECONNRESET');
      if (!isWatch(request.path) || lagMs === 0 || answer.body === null) return answer;
      return {
        status: answer.status,
        headers: answer.headers,
        text: () => answer.text(),
        body: late(answer.body, lagMs),
      };
    };
    const counted = createClient({ transport, userAgent: 'test', clock });
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
  const lease = (cluster: string, holder: string, leaseDurationSeconds = 15) => {
    const spec = { holderIdentity: holder, leaseDurationSeconds, renewTime: '2026-01-01T00:00:00.000000Z' };
    return client.resource(leases, cluster).create({ metadata: { name: LEASE }, spec });
  };
  const claims = async () => {
    const { metadata } = await client.resource(configMaps, 'fleet').get(NAME);
    const text = metadata.annotations?.[LeaseAnnotations.FleetRollouts];
    return text === undefined ? [] : Object.keys(JSON.parse(text).claims);
  };
  const loseAnswers = (loses: boolean): void => {
    losesAnswer = loses;
  };
  return { clock, client, replica, lease, claims, writes: () => writes, loseAnswers, close: () => end.abort() };
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

test('two replicas that write at the same time with old caches never use the same claim', async () => {
  const t = await setUp();
  const [one, two] = [t.replica(500), t.replica(500)];
  await t.clock.advance(5_000);
  const [a, b] = [one.open('a', 'one.1'), two.open('b', 'two.1')];
  a.report('x', ROLLS);
  b.report('y', ROLLS);
  const seen = new Set<number>();
  for (let look = 0; look < 100; look += 1) {
    await t.clock.advance(100);
    seen.add([a.hold(), b.hold()].filter((hold) => hold === undefined).length);
  }
  expect([...seen].sort()).toEqual([0, 1]);
  t.close();
});

test('a cluster does not use a claim that it has released, even if the answer to the release was lost', async () => {
  const t = await setUp();
  await t.lease('a', 'one.1', 3_600);
  const [one, two] = [t.replica(20_000), t.replica()];
  await t.clock.advance(90_000);
  const [a, b] = [one.open('a', 'one.1'), two.open('b', 'two.1')];
  a.report('x', ROLLS);
  await t.clock.advance(90_000);
  expect(a.hold()).toBeUndefined();
  b.report('y', ROLLS);
  await t.clock.advance(1_000);
  expect(b.hold()).toBeDefined();
  t.loseAnswers(true);
  a.report('x', RESTS);
  await t.clock.advance(20_500);
  t.loseAnswers(false);
  await t.clock.advance(5_000);
  expect(b.hold()).toBeUndefined();
  a.report('x', ROLLS);
  expect(a.hold()).toBeDefined();
  t.close();
});

test('a Lease lapses only if the server confirms that it is unchanged', async () => {
  const t = await setUp();
  await t.lease('a', 'one.1');
  const { spec } = await t.client.resource(leases, 'a').get(LEASE);
  const claims = new Map([['a', { id: 'one.1/1', since: '' }]]);
  const lapsed = async (known: string | undefined) => {
    const of = () => (known === undefined ? undefined : { spec: known, holder: 'one.1', atMs: 0 });
    const book = { of, endsAt: () => (known === undefined ? undefined : 0) };
    const all = new LapsedLeases({ client: t.client, book, lease: LEASE, clock: t.clock });
    all.note(claims);
    await t.clock.advance(61_000);
    return [...(await all.lapsed(claims, new AbortController().signal))];
  };
  expect(await lapsed(JSON.stringify(spec))).toEqual(['a']);
  expect(await lapsed(JSON.stringify({ ...spec, renewTime: 'earlier' }))).toEqual([]);
  expect(await lapsed(undefined)).toEqual([]);
  await t.client.resource(leases, 'a').delete(LEASE);
  expect(await lapsed(undefined)).toEqual(['a']);
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
