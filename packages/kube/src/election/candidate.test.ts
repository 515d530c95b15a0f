import { startControlPlane } from '@mcm/control-plane';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../client/create-client.ts';
import type { Transport } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { serve } from '../testing/serve.ts';
import { leases } from '../types/groups.ts';
import { Candidate } from './candidate.ts';
import { holderSettings, holderVersion } from './record.ts';
import type { ElectionOptions } from './settings.ts';

const LEASE = { namespace: 'default', name: 'lock' };
const never = new AbortController().signal;

async function setUp(change: Partial<ElectionOptions> = {}) {
  const p = await serve(startControlPlane);
  onTestFinished(() => p.server.close());
  const { clock, random, transport: real } = p;
  const network: { answer: (send: Transport) => Transport } = { answer: (send) => send };
  const transport: Transport = (request) => network.answer(real)(request);
  const create = (identity: string, more: Partial<ElectionOptions> = {}) => {
    const client = createClient({ transport, userAgent: identity, clock });
    const options = { client, lease: LEASE, identity, clock, random, log: createMemoryLogger(), signal: never };
    return { client, candidate: new Candidate({ ...options, ...change, ...more }) };
  };
  const resource = p.client.resource(leases, 'default');
  const lease = () => resource.get('lock');
  const patch = (body: object) => resource.patch('lock', { type: 'merge', body });
  const version = async () => Number((await lease()).metadata.resourceVersion);
  return { ...p, create, ...create('a'), network, resource, lease, patch, version };
}

const refusing =
  (code: number, headers: Record<string, string> = {}) =>
  (): Transport =>
  async () =>
    Response.json({ kind: 'Status', status: 'Failure', code, reason: 'x', message: 'no' }, { status: code, headers });

test('a candidate that holds the lease takes it again, for example after a restart with the same identity', async () => {
  const t = await setUp();
  expect(await t.candidate.tryOnce(never)).toBe('mine');
  expect(await t.create('a').candidate.tryOnce(never)).toBe('mine');
  expect(await t.create('b').candidate.tryOnce(never)).toBe('other');
});

test('a lease that a user edits is renewed, keeps the edit, and is no evidence of a restore', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  await t.patch({ metadata: { annotations: { note: 'kept' } } });
  expect(await t.candidate.renew(never)).toBe('mine');
  expect((await t.lease()).metadata.annotations).toEqual({ note: 'kept' });
  expect(t.client.history.rollbacks).toBe(0);
});

test('a holder creates its lease again if the server answers the renewal with 404', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  await t.resource.delete('lock');
  t.network.answer = (send) => (request) => (request.method === 'PUT' ? refusing(404)()(request) : send(request));
  expect(await t.candidate.renew(never)).toBe('mine');
  expect((await t.lease()).spec).toMatchObject({ holderIdentity: 'a' });
});

test('a process that continues after a long stop and takes its own lease records no period without a holder', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  await t.clock.advance(600_000);
  expect(await t.candidate.tryOnce(never)).toBe('mine');
  expect((await t.lease()).metadata.annotations).toBeUndefined();
});

test('a lease that a user deletes is created again by its holder, and is no evidence of a restore', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  await t.resource.delete('lock');
  expect(await t.candidate.renew(never)).toBe('mine');
  expect((await t.lease()).spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
  expect(t.client.history.rollbacks).toBe(0);
});

test('a conflict without another holder is no evidence of a restore', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  let refused = false;
  t.network.answer = (send) => (request) => {
    if (refused || request.method !== 'PUT') return send(request);
    refused = true;
    return refusing(409)()(request);
  };
  expect(await t.candidate.renew(never)).toBe('mine');
  expect(t.client.history.rollbacks).toBe(0);
});

test('a candidate without the lease takes a free one, and does not take the lease of another holder', async () => {
  const t = await setUp();
  expect(await t.candidate.renew(never)).toBe('mine');
  const { candidate } = t.create('b');
  expect(await candidate.tryOnce(never)).toBe('other');
  expect(await candidate.renew(never)).toBe('other');
  expect((await t.lease()).spec?.holderIdentity).toBe('a');
});

test('a failed read of the lease is an error, and no lease is created', async () => {
  const t = await setUp();
  t.network.answer = (send) => (request) => (request.method === 'GET' ? refusing(500)()(request) : send(request));
  await expect(t.candidate.tryOnce(never)).rejects.toMatchObject({ code: 500 });
  expect(t.writes).toEqual([]);
});

test.each([
  ['holds it', 'b'],
  ['has released it since', ''],
])('a leader ends if another candidate took the lease and %s', async (_what, holderIdentity) => {
  const seen: unknown[] = [];
  const t = await setUp({ onLeader: (...leader) => seen.push(leader) });
  await t.candidate.tryOnce(never);
  await t.patch({ spec: { holderIdentity, leaseTransitions: 1 } });
  expect(await t.candidate.renew(never)).toBe('other');
  expect(seen).toEqual([[holderIdentity, undefined]]);
  expect((await t.lease()).spec?.holderIdentity).toBe(holderIdentity);
});

test('the lease of another candidate is taken when it was not renewed for its duration', async () => {
  const t = await setUp();
  await t.create('b').candidate.tryOnce(never);
  expect(await t.candidate.tryOnce(never)).toBe('other');
  await t.clock.advance(14_999);
  expect(await t.candidate.tryOnce(never)).toBe('other');
  await t.clock.advance(1);
  expect(await t.candidate.tryOnce(never)).toBe('mine');
});

test('a candidate has the given timings', async () => {
  const timings = { leaseMs: 30_000, renewDeadlineMs: 20_000, retryMs: 1_000 };
  const t = await setUp({ timings });
  expect(t.candidate.timings).toBe(timings);
  await t.candidate.tryOnce(never);
  expect((await t.lease()).spec?.leaseDurationSeconds).toBe(30);
});

test('a release that fails without a conflict is not repeated', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  let writes = 0;
  t.network.answer = (send) => (request) => {
    if (request.method === 'PUT') writes += 1;
    return request.method === 'PUT' && writes === 1 ? refusing(500)()(request) : send(request);
  };
  await expect(t.candidate.release()).rejects.toMatchObject({ code: 500 });
  expect([writes, (await t.lease()).spec?.holderIdentity]).toEqual([1, 'a']);
});

test('a candidate that does not hold the lease confirms nothing', async () => {
  const t = await setUp();
  await expect(t.candidate.confirm(never)).rejects.toThrow('another process holds the Lease');
  await t.create('b').candidate.tryOnce(never);
  expect(await t.candidate.tryOnce(never)).toBe('other');
  await expect(t.candidate.confirm(never)).rejects.toThrow('another process holds the Lease');
});

test('a candidate that released the lease confirms nothing, even after a recent renewal', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  await t.candidate.release();
  await expect(t.candidate.confirm(never)).rejects.toThrow('another process holds the Lease');
});

test('a renewal older than the renew deadline is confirmed by another renewal, each time', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  for (let round = 0; round < 3; round += 1) {
    const before = await t.version();
    t.clock.jump(10_000);
    await t.candidate.confirm(never);
    expect(await t.version()).toBe(before + 1);
  }
});

test('a confirmation fails if the work ends meanwhile', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  t.clock.jump(60_000);
  const work = new AbortController();
  t.network.answer = (send) => async (request) => {
    const answer = await send({ ...request, signal: never });
    work.abort(new Error('the work ends'));
    return answer;
  };
  await expect(t.candidate.confirm(work.signal)).rejects.toThrow('the work ends');
});

test("a confirmation succeeds if the only conflict is the candidate's renewal", async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  t.clock.jump(60_000);
  let renewed = false;
  t.network.answer = (send) => async (request) => {
    if (!renewed) {
      renewed = true;
      await t.candidate.renew(never);
    }
    return send(request);
  };
  await t.candidate.confirm(never);
  expect((await t.lease()).spec?.holderIdentity).toBe('a');
});

test('a confirmation fails if another process took the lease while this process waited for the response', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  t.clock.jump(10_000);
  let renewals = 0;
  t.network.answer = (send) => async (request) => {
    const answer = await send(request);
    renewals += 1;
    if (renewals > 1) return answer;
    t.clock.jump(38_000);
    await t.patch({ spec: { holderIdentity: 'b' } });
    return answer;
  };
  await expect(t.candidate.confirm(never)).rejects.toMatchObject({ code: 409 });
  expect(renewals).toBe(2);
});

test('a confirmation fails if it is refused for any reason but a conflict', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  t.clock.jump(60_000);
  t.network.answer = refusing(500);
  await expect(t.candidate.confirm(never)).rejects.toMatchObject({ code: 500 });
});

test('a lease is released even if the answer to its last renewal was lost', async () => {
  const t = await setUp();
  await t.candidate.tryOnce(never);
  t.network.answer = (send) => async (request) => {
    await send(request);
    throw new Error('ECONNRESET');
  };
  await t.clock.advance(1_000);
  await expect(t.candidate.renew(never)).rejects.toThrow('ECONNRESET');
  t.network.answer = (send) => send;
  await t.candidate.release();
  expect((await t.lease()).spec?.holderIdentity).toBe('');
});

test('a refused release fails, a release of a deleted lease succeeds, and a candidate without the lease sends none', async () => {
  const t = await setUp();
  await t.candidate.release();
  await t.candidate.tryOnce(never);
  t.network.answer = refusing(500);
  await expect(t.candidate.release()).rejects.toMatchObject({ code: 500 });
  t.network.answer = () => (request) => refusing(request.method === 'GET' ? 404 : 409)()(request);
  await t.candidate.release();
  t.network.answer = refusing(403);
  await t.create('b').candidate.release();
});

test.each([429, 503])('an answer %i with Retry-After does not delay the election', async (code) => {
  const t = await setUp();
  t.network.answer = refusing(code, { 'retry-after': '60' });
  await expect(t.candidate.tryOnce(never)).rejects.toMatchObject({ code });
  t.network.answer = (send) => send;
  await t.candidate.tryOnce(never);
  t.network.answer = refusing(code, { 'retry-after': '60' });
  await expect(t.candidate.renew(never)).rejects.toMatchObject({ code });
});

test('a pending read of the lease ends when its signal aborts', async () => {
  const t = await setUp();
  const stop = new AbortController();
  t.network.answer = () => (request) =>
    new Promise((_, reject) => request.signal?.addEventListener('abort', () => reject(request.signal?.reason)));
  const tried = t.candidate.tryOnce(stop.signal);
  stop.abort(new Error('stop'));
  await expect(tried).rejects.toThrow();
});

test('a leader writes its version and its flags with each renewal, and removes both when it releases the lease', async () => {
  const t = await setUp({ version: '1.2.3', settings: { 'safety-up': 5 } });
  await t.candidate.tryOnce(never);
  await t.patch({ metadata: { annotations: { note: 'kept' } } });
  await t.candidate.renew(never);
  const held = await t.lease();
  expect([holderVersion(held, 'a'), holderSettings(held), held.metadata.annotations?.note]).toEqual([
    '1.2.3',
    { 'safety-up': 5 },
    'kept',
  ]);
  await t.candidate.release();
  const left = await t.lease();
  expect([holderVersion(left, ''), holderSettings(left)]).toEqual([undefined, undefined]);
  expect(left.metadata.annotations?.note).toBe('kept');
});

test.each([
  [{ version: '1.2.3' }, ['holder-version']],
  [{ settings: {} }, ['holder-settings']],
  [{}, []],
])('a leader writes only the given information about itself: %o', async (given, keys) => {
  const t = await setUp(given);
  await t.candidate.tryOnce(never);
  expect(Object.keys((await t.lease()).metadata.annotations ?? {})).toEqual(keys);
});

test('the version of the leader is reported to the waiting candidates', async () => {
  const seen: unknown[] = [];
  const t = await setUp({ version: '1.2.3', onLeader: (...leader) => seen.push(leader) });
  await t.create('b').candidate.tryOnce(never);
  await t.candidate.tryOnce(never);
  expect(seen).toEqual([['b', '1.2.3']]);
});

const watching =
  (clock: { advance(ms: number): Promise<unknown> }, events: readonly object[], afterMs: number) =>
  (send: Transport): Transport =>
  async (request) => {
    if (!request.path.includes('watch=')) return send(request);
    await clock.advance(afterMs);
    return new Response(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  };

test('the candidate reads the lease again immediately after a long watch, but not after a watch that ends immediately', async () => {
  const t = await setUp({ follow: true });
  await t.create('b').candidate.tryOnce(never);
  expect(await t.candidate.follow(never)).toBe(false);
  expect(await t.candidate.tryOnce(never)).toBe('other');
  t.network.answer = watching(t.clock, [], 0);
  expect(await t.candidate.follow(never)).toBe(false);
  t.network.answer = watching(t.clock, [], 2_000);
  expect(await t.candidate.follow(never)).toBe(false);
  t.network.answer = watching(t.clock, [], 2_001);
  expect(await t.candidate.follow(never)).toBe(true);
});

test('a candidate without `follow` never watches, and a candidate without permission tries once', async () => {
  for (const follow of [undefined, false, true]) {
    const t = await setUp(follow === undefined ? {} : { follow });
    await t.create('b').candidate.tryOnce(never);
    await t.candidate.tryOnce(never);
    let watches = 0;
    t.network.answer = (send) => (request) => {
      if (!request.path.includes('watch=')) return send(request);
      watches += 1;
      return refusing(403)()(request);
    };
    for (let round = 0; round < 3; round += 1) expect(await t.candidate.follow(never)).toBe(false);
    expect(watches).toBe(follow ? 1 : 0);
  }
});

test('a candidate watches only its lease, from the version it has read, and reports a new leader', async () => {
  const seen: unknown[] = [];
  const t = await setUp({ follow: true, onLeader: (...leader) => seen.push(leader) });
  await t.create('b').candidate.tryOnce(never);
  await t.candidate.tryOnce(never);
  const held = await t.lease();
  const next = { ...held, spec: { ...held.spec, holderIdentity: 'c' } };
  const asked: (string | null)[] = [];
  t.network.answer = (send) => (request) => {
    const { searchParams } = new URL(request.path, 'http://server');
    asked.push(searchParams.get('fieldSelector'), searchParams.get('resourceVersion'));
    return watching(t.clock, [{ type: 'MODIFIED', object: next }], 0)(send)(request);
  };
  expect(await t.candidate.follow(never)).toBe(false);
  expect(asked).toEqual(['metadata.name=lock', held.metadata.resourceVersion]);
  expect(seen).toEqual([
    ['b', undefined],
    ['c', undefined],
  ]);
});

test('a failed watch is tried again at the next read', async () => {
  const t = await setUp({ follow: true });
  await t.create('b').candidate.tryOnce(never);
  await t.candidate.tryOnce(never);
  let watches = 0;
  t.network.answer = () => (request) => {
    watches += 1;
    return refusing(500)()(request);
  };
  for (let round = 0; round < 2; round += 1) expect(await t.candidate.follow(never)).toBe(false);
  expect(watches).toBe(2);
});

test('bookmarks are ignored, and a watch ends when the lease is deleted or belongs to the candidate', async () => {
  const t = await setUp({ follow: true });
  await t.create('b').candidate.tryOnce(never);
  await t.candidate.tryOnce(never);
  const held = await t.lease();
  const object = {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: { name: 'lock', resourceVersion: '9' },
  };
  t.network.answer = watching(t.clock, [{ type: 'BOOKMARK', object }], 3_000);
  expect(await t.candidate.follow(never)).toBe(true);
  t.network.answer = watching(t.clock, [{ type: 'BOOKMARK', object }], 0);
  expect(await t.candidate.follow(never)).toBe(false);
  t.network.answer = watching(t.clock, [{ type: 'DELETED', object: held }], 3_000);
  expect(await t.candidate.follow(never)).toBe(false);
  const mine = { ...held, spec: { ...held.spec, holderIdentity: 'a' } };
  t.network.answer = watching(t.clock, [{ type: 'MODIFIED', object: mine }], 0);
  expect(await t.candidate.follow(never)).toBe(true);
});

describe('a candidate with a finalizer', () => {
  const KEPT = 'example.com/kept';
  const withFinalizer = (kept: boolean) => setUp({ finalizer: { name: KEPT, kept: () => kept } });
  const finalizersOf = async (t: Awaited<ReturnType<typeof setUp>>) => (await t.lease()).metadata.finalizers;

  test('the holder adds the finalizer, and keeps the lease and the finalizers of others during a deletion', async () => {
    const t = await withFinalizer(true);
    await t.resource.create({ metadata: { name: 'lock', finalizers: ['example.com/other'] } });
    await t.candidate.tryOnce(never);
    expect(await finalizersOf(t)).toEqual(['example.com/other', KEPT]);
    await t.resource.delete('lock');
    expect(await t.candidate.renew(never)).toBe('mine');
    await t.candidate.release();
    expect(await finalizersOf(t)).toEqual(['example.com/other', KEPT]);
    expect(await t.create('b').candidate.tryOnce(never)).toBe('mine');
  });

  test('a release removes a finalizer that is not kept', async () => {
    const t = await withFinalizer(false);
    await t.candidate.tryOnce(never);
    expect(await finalizersOf(t)).toEqual([KEPT]);
    await t.candidate.release();
    expect((await finalizersOf(t)) ?? []).toEqual([]);
  });

  test('a lease that is already being deleted gets no finalizer, because the server would refuse each write', async () => {
    const t = await withFinalizer(true);
    await t.resource.create({ metadata: { name: 'lock', finalizers: ['example.com/other'] } });
    await t.resource.delete('lock');
    expect(await t.candidate.tryOnce(never)).toBe('mine');
    expect(await t.candidate.renew(never)).toBe('mine');
    await t.candidate.release();
    expect(await finalizersOf(t)).toEqual(['example.com/other']);
    expect((await t.lease()).spec).toMatchObject({ holderIdentity: '' });
  });
});

describe('durations that change', () => {
  const QUIET = { leaseMs: 90_000, renewDeadlineMs: 60_000 };

  /** Loses the response to the next renewal, although the API server executes the renewal. */
  async function renewedWithoutResponse(t: Awaited<ReturnType<typeof setUp>>, pace?: typeof QUIET): Promise<void> {
    t.network.answer = (send) => async (request) => {
      await send(request);
      throw new Error('ECONNRESET');
    };
    await expect(t.candidate.renew(never, pace)).rejects.toThrow('ECONNRESET');
    t.network.answer = (send) => send;
  }

  test('a long renewal is confirmed without a request until its deadline', async () => {
    const t = await setUp();
    await t.candidate.tryOnce(never);
    await t.candidate.renew(never, QUIET);
    const before = await t.version();
    await t.clock.advance(59_000);
    await t.candidate.confirm(never);
    expect(await t.version()).toBe(before);
    await t.clock.advance(2_000);
    await t.candidate.confirm(never);
    expect(await t.version()).toBeGreaterThan(before);
  });

  test('after a shorter renewal without a response, the shorter deadline applies', async () => {
    const t = await setUp();
    await t.candidate.tryOnce(never);
    await t.candidate.renew(never, QUIET);
    await t.clock.advance(20_000);
    await renewedWithoutResponse(t);
    await t.clock.advance(9_000);
    await t.candidate.confirm(never);
    await t.clock.advance(2_000);
    t.network.answer = () => () => Promise.reject(new Error('ENETDOWN'));
    await expect(t.candidate.confirm(never)).rejects.toThrow('ENETDOWN');
  });

  test('after a longer renewal without a response, the earlier deadline applies', async () => {
    const t = await setUp();
    await t.candidate.tryOnce(never);
    await renewedWithoutResponse(t, QUIET);
    await t.clock.advance(11_000);
    t.network.answer = () => () => Promise.reject(new Error('ENETDOWN'));
    await expect(t.candidate.confirm(never)).rejects.toThrow('ENETDOWN');
  });
});
