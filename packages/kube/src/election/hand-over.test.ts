import { startControlPlane } from '@mcm/control-plane';
import { afterEach, describe, expect, test } from 'vitest';
import { createClient } from '../client/create-client.ts';
import type { Transport } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { serve } from '../testing/serve.ts';
import { configMaps } from '../types/core.ts';
import { leases } from '../types/groups.ts';
import type { Fence } from './fence.ts';
import { fencedClient } from './fenced-client.ts';
import { runElected } from './run-elected.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const watches = (path: string): boolean => path.includes('watch=');

async function setUp() {
  const p = await serve(startControlPlane);
  closers.push(() => p.server.close());
  const led: { who: string; atMs: number }[] = [];
  const startedAt = p.clock.now().getTime();

  function candidate(identity: string) {
    const stop = new AbortController();
    const network: { up: boolean; watches: 'allowed' | 'forbidden' | 'mute' } = { up: true, watches: 'allowed' };
    let reads = 0;
    let streams = 0;
    const transport: Transport = async (request) => {
      if (!network.up) throw new Error('ECONNREFUSED');
      if (watches(request.path)) {
        streams += 1;
        if (network.watches === 'forbidden') {
          const body = JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no watch' });
          return new Response(body, { status: 403, headers: { 'content-type': 'application/json' } });
        }
        if (network.watches === 'mute') {
          return new Promise((_, reject) =>
            request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
          );
        }
      } else if (request.method === 'GET') reads += 1;
      return p.transport(request);
    };
    const client = createClient({ transport, userAgent: identity, clock: p.clock });
    let fence: Fence | undefined;
    const { clock, random } = p;
    const log = createMemoryLogger();
    const lease = { namespace: 'default', name: 'lock' };
    const end = runElected(
      { client, lease, identity, clock, random, log, signal: stop.signal, follow: true },
      async (signal, given) => {
        fence = given;
        led.push({ who: identity, atMs: clock.now().getTime() - startedAt });
        await new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      },
    );
    const counts = () => ({ reads, streams });
    return { stop: () => stop.abort(new Error('stop')), network, end, counts, client, fence: () => fence };
  }
  return { ...p, candidate, led };
}

describe('a hand-over', () => {
  test('a hand-over happens as soon as the leader releases the lease, without polling', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    await t.clock.advance(61_000);
    expect(b.counts()).toEqual({ reads: 1, streams: 1 });
    a.stop();
    await t.clock.settle();
    expect(t.led).toEqual([
      { who: 'a', atMs: 0 },
      { who: 'b', atMs: 61_000 },
    ]);
    b.stop();
    await Promise.all([a.end, b.end]);
    expect(t.clock.pending).toBe(0);
  });

  test('a hand-over from a killed leader happens when its lease has expired after its last renewal', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    await t.clock.advance(61_500);
    // Other candidates cannot distinguish a network failure of the last leader from the end of its process.
    a.network.up = false;
    await t.clock.advance(13_499);
    expect(t.led).toHaveLength(1);
    await t.clock.advance(1);
    expect(t.led.at(-1)).toEqual({ who: 'b', atMs: 75_000 });
    b.stop();
    await Promise.all([a.end, b.end]);
  });

  test('a hand-over is to one of the waiting candidates, and the others continue to wait', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const others = ['b', 'c', 'd'].map((identity) => t.candidate(identity));
    await t.clock.advance(10_000);
    a.stop();
    await t.clock.advance(30_000);
    expect(t.led).toHaveLength(2);
    for (const each of others) each.stop();
    await Promise.all(others.map(({ end }) => end));
  });

  test('a hand-over happens with a watch that delivers no events, but not while the leader renews', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    b.network.watches = 'mute';
    await t.clock.advance(60_000);
    expect(t.led).toHaveLength(1);
    expect(b.counts().reads).toBe(5);
    a.stop();
    await t.clock.advance(15_000);
    expect(t.led.at(-1)?.who).toBe('b');
    b.stop();
    await b.end;
  });

  test('a hand-over to a candidate without permission to watch happens at its next read', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    b.network.watches = 'forbidden';
    await t.clock.advance(60_000);
    expect(t.led).toHaveLength(1);
    expect(b.counts().streams).toBe(1);
    a.stop();
    await t.clock.advance(4_400);
    expect(t.led.at(-1)?.who).toBe('b');
    b.stop();
    await b.end;
  });

  test('a hand-over does not happen when a user deletes the lease: its leader creates it again', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    await t.clock.advance(5_000);
    await t.client.resource(leases, 'default').delete('lock');
    await t.clock.advance(60_000);
    expect(t.led).toHaveLength(1);
    a.stop();
    await t.clock.settle();
    expect(t.led.at(-1)).toEqual({ who: 'b', atMs: 65_000 });
    b.stop();
    await Promise.all([a.end, b.end]);
  });
});

describe('a fenced client', () => {
  const named = (name: string) => ({ metadata: { name, namespace: 'default' } });

  async function leader() {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const fence = a.fence();
    if (fence === undefined) throw new Error('a does not lead');
    const client = fencedClient(a.client, fence);
    return { t, a, fence, client, maps: client.resource(configMaps, 'default') };
  }

  test('a fenced client writes without extra requests while its process leads', async () => {
    const { t, a, maps } = await leader();
    await maps.create(named('one'));
    await maps.patch('one', { type: 'merge', body: { data: { a: '1' } } });
    expect((await maps.get('one')).data).toEqual({ a: '1' });
    await maps.delete('one');
    expect(t.writes.filter((line) => line.includes('leases'))).toHaveLength(1);
    a.stop();
    await a.end;
  });

  test('a fenced client sends no late write after its process slept and another took the lease', async () => {
    const { t, a, client, maps } = await leader();
    const kept = await maps.create(named('kept'));
    const usurped = { holderIdentity: 'b', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:01:00.000000Z' };
    const body = { spec: usurped };
    await t.client.resource(leases, 'default').patch('lock', { type: 'merge', body });
    t.clock.jump(60_000);
    const late = { ...kept, data: { late: 'yes' } };
    const path = '/api/v1/namespaces/default/configmaps/kept';
    for (const write of [
      () => maps.create(named('late')),
      () => maps.update(late),
      () => maps.patch('kept', { type: 'merge', body: { data: { late: 'yes' } } }),
      () => maps.createSubresource('kept', 'eviction', {}),
      () => client.request('PUT', path, { body: late }),
      () => client.request('DELETE', path),
      () => maps.delete('kept'),
      () => maps.deleteCollection(),
    ])
      await expect(write(), String(write)).rejects.toMatchObject({ name: 'KubeError', code: 0, reason: 'NotLeading' });
    const { items } = await t.client.resource(configMaps, 'default').list();
    expect(items.map(({ metadata: { name, resourceVersion } }) => [name, resourceVersion])).toEqual([
      ['kept', kept.metadata.resourceVersion],
    ]);
    await t.clock.advance(2_000);
    expect(await a.end).toBe('lost');
  });

  test('a fenced client does not repeat a write after a Retry-After when another process has taken the lease in the meantime', async () => {
    const { t, a, fence } = await leader();
    let refused = 0;
    const transport: Transport = async (request) => {
      if (request.method !== 'PATCH' || refused > 0) return t.transport(request);
      refused += 1;
      const body = JSON.stringify({ kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'later' });
      return new Response(body, { status: 429, headers: { 'retry-after': '2' } });
    };
    const client = fencedClient(createClient({ transport, userAgent: 'a', clock: t.clock }), fence);
    await t.client.resource(configMaps, 'default').create(named('kept'));
    const maps = client.resource(configMaps, 'default');
    const write = maps.patch('kept', { type: 'merge', body: { data: { late: 'yes' } } });
    const outcome = expect(write).rejects.toMatchObject({ code: 0, reason: 'NotLeading' });
    await t.clock.settle();
    expect(refused).toBe(1);
    const usurped = { holderIdentity: 'b', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:01:00.000000Z' };
    await t.client.resource(leases, 'default').patch('lock', { type: 'merge', body: { spec: usurped } });
    t.clock.jump(60_000);
    await t.clock.advance(3_000);
    await outcome;
    expect((await t.client.resource(configMaps, 'default').get('kept')).data).toBeUndefined();
    expect(await a.end).toBe('lost');
  });

  test('a fenced client reads and sends reviews even if its process does not lead', async () => {
    const t = await setUp();
    let asked = 0;
    const shut: Fence = {
      confirm: () => Promise.reject(new Error('shut')),
      held: () => {
        asked += 1;
        return Promise.reject(new Error('shut'));
      },
    };
    await t.client.resource(configMaps, 'default').create(named('one'));
    const client = fencedClient(t.client, shut);
    const maps = client.resource(configMaps, 'default');
    expect((await maps.get('one')).metadata.name).toBe('one');
    const { items, metadata } = await maps.list();
    expect(items).toHaveLength(1);
    const stop = new AbortController();
    const events = maps.watch({ resourceVersion: metadata.resourceVersion ?? '', signal: stop.signal });
    const first = events[Symbol.asyncIterator]().next();
    await t.client.resource(configMaps, 'default').create(named('two'));
    expect((await first).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'two' } } });
    stop.abort(new Error('stop'));
    const path = '/api/v1/namespaces/default/configmaps/one';
    expect(await client.request('GET', path)).toMatchObject({ metadata: { name: 'one' } });
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: {} };
    const reviewed = client.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body: review });
    await reviewed.catch((error: unknown) => expect(error).not.toMatchObject({ reason: 'NotLeading' }));
    expect(asked).toBe(0);
  });

  test('a fenced client allows the last steps of a leader that has to end, and holds the lease until they are done', async () => {
    const t = await setUp();
    const stop = new AbortController();
    const { client, clock, random, log } = t;
    const lease = { namespace: 'default', name: 'lock' };
    const end = runElected(
      { client, lease, identity: 'a', clock, random, log, signal: stop.signal },
      async (_, fence) => {
        const maps = fencedClient(client, fence).resource(configMaps, 'default');
        stop.abort(new Error('stop'));
        await expect(fence.confirm()).rejects.toThrow('stop');
        await maps.create(named('last'));
      },
    );
    expect(await end).toBe('stopped');
    expect((await client.resource(configMaps, 'default').get('last')).metadata.name).toBe('last');
  });
});
