import { startControlPlane } from '@mcm/control-plane';
import { afterEach, describe, expect, test } from 'vitest';
import { createClient } from '../client/create-client.ts';
import { sleep } from '../clock/clock.ts';
import type { Transport } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { serve } from '../testing/serve.ts';
import { leases } from '../types/groups.ts';
import type { Fence } from './fence.ts';
import { runElected } from './run-elected.ts';
import type { ElectionTimings, QuietTimings } from './settings.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function setUp() {
  const p = await serve(startControlPlane);
  closers.push(() => p.server.close());
  const resource = p.client.resource(leases, 'default');
  const spec = async () => (await resource.get('lock')).spec;
  const leading = new Set<string>();
  let most = 0;

  function candidate(
    identity: string,
    options: {
      timings?: ElectionTimings;
      renewMs?: number;
      quiet?: QuietTimings;
      lead?: (signal: AbortSignal, fence: Fence) => Promise<void>;
    } = {},
  ) {
    const stop = new AbortController();
    const network = { up: true, hangs: false, losesAnswers: false, answersAfterMs: 0, status: 200 };
    let looks = 0;
    let forbidden = 0;
    const transport: Transport = async (request) => {
      if (request.method === 'GET') looks += 1;
      if (network.status !== 200) {
        const { status: code } = network;
        return Response.json({ kind: 'Status', status: 'Failure', code, message: 'no' }, { status: code });
      }
      if (network.losesAnswers) await p.transport(request);
      if (network.hangs || network.losesAnswers) {
        return new Promise((_, reject) =>
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
        );
      }
      if (!network.up) throw new Error('ECONNREFUSED');
      const answer = await p.transport(request);
      if (network.answersAfterMs > 0) await sleep(p.clock, network.answersAfterMs);
      return answer;
    };
    const log = createMemoryLogger();
    let leftAt: number | undefined;
    let lost: string | undefined;
    let fence: Fence | undefined;
    const work = async (signal: AbortSignal, given: Fence): Promise<void> => {
      fence = given;
      leading.add(identity);
      most = Math.max(most, leading.size);
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      leading.delete(identity);
      leftAt = p.clock.now().getTime();
    };
    const end = runElected(
      {
        client: createClient({ transport, userAgent: identity, clock: p.clock }),
        lease: { namespace: 'default', name: 'lock' },
        identity,
        ...(options.timings === undefined ? {} : { timings: options.timings }),
        ...(options.renewMs === undefined ? {} : { renewMs: options.renewMs }),
        quiet: options.quiet,
        clock: p.clock,
        random: p.random,
        log,
        signal: stop.signal,
        onLost: (because) => {
          lost = because;
        },
        onForbidden: () => {
          forbidden += 1;
        },
      },
      options.lead ?? work,
    );
    end.catch(() => undefined);
    return {
      stop: () => stop.abort(new Error('stop')),
      network,
      end,
      log,
      leftAt: () => leftAt,
      lost: () => lost,
      looks: () => looks,
      forbidden: () => forbidden,
      confirm: async () => fence?.confirm(),
    };
  }
  return { ...p, resource, spec, candidate, leading, most: () => most };
}

describe('election', () => {
  test('the record is equal to that of client-go, and a released lease is taken immediately', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    expect(await t.spec()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await t.clock.advance(4000);
    expect(await t.spec()).toMatchObject({
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:04.000000Z',
    });
    a.stop();
    await t.clock.settle();
    expect(await a.end).toBe('stopped');
    expect(await t.spec()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
    const b = t.candidate('b');
    await t.clock.settle();
    expect(await t.spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    b.stop();
    await b.end;
    expect(t.clock.pending).toBe(0);
  });

  test('a lease that another candidate took unnoticed is not released', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    await t.resource.patch('lock', { type: 'merge', body: { spec: { holderIdentity: 'b' } } });
    a.stop();
    expect(await a.end).toBe('stopped');
    expect(await t.spec()).toMatchObject({ holderIdentity: 'b', leaseDurationSeconds: 15 });
  });

  test('one renewal costs one write and no read', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    t.writes.length = 0;
    await t.clock.advance(60_000);
    expect(t.writes.length).toBe(30);
    a.stop();
    await a.end;
  });

  test('one of many candidates leads at a time, even if leaders are killed', async () => {
    const t = await setUp();
    const all = ['a', 'b', 'c', 'd'].map((identity) => t.candidate(identity));
    for (let round = 0; round < 4; round++) {
      await t.clock.advance(40_000);
      expect(t.leading.size).toBe(1);
      const [leader] = t.leading;
      const index = ['a', 'b', 'c', 'd'].indexOf(leader ?? '');
      const one = all[index];
      if (round % 2 === 0 && one !== undefined) one.network.up = false;
      else one?.stop();
    }
    await t.clock.advance(40_000);
    expect(t.most()).toBe(1);
    for (const each of all) each.stop();
    await t.clock.advance(10_000);
    expect(t.leading.size).toBe(0);
  });

  test('a leader that cannot renew stops at its deadline, before another candidate may begin', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    await t.clock.advance(20_000);
    const cutAt = t.clock.now().getTime();
    a.network.up = false;
    await t.clock.advance(30_000);
    expect(await a.end).toBe('lost');
    expect((a.leftAt() ?? 0) - cutAt).toBeLessThanOrEqual(10_000);
    expect([...t.leading]).toEqual(['b']);
    expect(t.most()).toBe(1);
    expect(a.log.lines.filter((line) => line.level === 'warn').length).toBe(1);
    expect(a.lost()).toMatch(/^the process could not renew the Lease for 10 s \(PUT .*ECONNREFUSED\)$/);
    b.stop();
    await b.end;
  });

  test('a pending renewal does not move the deadline', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.advance(3000);
    a.network.hangs = true;
    await t.clock.advance(12_000);
    expect(await a.end).toBe('lost');
    expect(a.lost()).toBe('the process could not renew the Lease for 10 s (the API server did not answer)');
    expect(new Date(a.leftAt() ?? 0).toISOString()).toBe('2026-01-01T00:00:12.000Z');
  });

  test('a renewal with a late answer counts from its request: no other candidate leads before the leader stops', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    await t.clock.advance(3_000);
    a.network.answersAfterMs = 7_500;
    await t.clock.advance(2_000);
    a.network.hangs = true;
    await t.clock.advance(60_000);
    expect(await a.end).toBe('lost');
    expect(new Date(a.leftAt() ?? 0).toISOString()).toBe('2026-01-01T00:00:14.000Z');
    expect([...t.leading]).toEqual(['b']);
    expect(t.most()).toBe(1);
    b.stop();
    await b.end;
  });

  test.each([3, -3])(
    'when the time of day jumps by %i hours, no candidate takes a lease that is renewed',
    async (hours) => {
      const t = await setUp();
      const a = t.candidate('a');
      await t.clock.settle();
      const b = t.candidate('b');
      await t.clock.advance(5_000);
      t.clock.jump(hours * 3_600_000);
      await t.clock.advance(60_000);
      expect([...t.leading]).toEqual(['a']);
      expect(t.most()).toBe(1);
      a.stop();
      await t.clock.advance(10_000);
      expect([...t.leading]).toEqual(['b']);
      b.stop();
      await b.end;
    },
  );

  test('a leader that sees another holder stops immediately', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const lease = await t.resource.get('lock');
    await t.resource.update({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'usurper', renewTime: '2026-01-01T00:00:01.000000Z' },
    });
    const before = t.clock.now().getTime();
    await t.clock.advance(2000);
    expect(await a.end).toBe('lost');
    expect(a.lost()).toBe('another process is the leader');
    expect((a.leftAt() ?? 0) - before).toBeLessThanOrEqual(2000);
    expect((await t.spec())?.holderIdentity).toBe('usurper');
  });

  test('a leader whose first renewal gets no answer stops at its deadline', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    a.network.hangs = true;
    await t.clock.advance(12_000);
    expect(await a.end).toBe('lost');
    expect(new Date(a.leftAt() ?? 0).toISOString()).toBe('2026-01-01T00:00:10.000Z');
  });

  test('a candidate that is stopped while it waits does not become the leader', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    await t.clock.advance(5_000);
    b.stop();
    expect(await b.end).toBe('stopped');
    expect([...t.leading]).toEqual(['a']);
    expect(b.leftAt()).toBeUndefined();
    a.stop();
    await a.end;
  });

  test('a waiting candidate reads the lease every 2 to 4.4 s', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.settle();
    const b = t.candidate('b');
    await t.clock.advance(440_000);
    expect(b.looks()).toBeGreaterThan(100);
    expect(b.looks()).toBeLessThan(221);
    a.stop();
    await t.clock.advance(10_000);
    b.stop();
    await b.end;
  });

  test('an outage is logged when it begins and when it ends, but a conflict is not an outage', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    a.network.up = false;
    await t.clock.advance(20_000);
    expect(a.log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    a.network.up = true;
    await t.clock.advance(5_000);
    expect(a.log.lines.filter(({ message }) => message.endsWith('succeeds again'))).toHaveLength(1);
    const waiting = t.candidate('waiting');
    waiting.network.up = false;
    await t.clock.advance(20_000);
    waiting.network.up = true;
    await t.clock.advance(5_000);
    expect([...t.leading]).toEqual(['a']);
    expect(waiting.log.lines.filter(({ message }) => message.endsWith('succeeds again'))).toHaveLength(1);
    waiting.stop();
    a.stop();
    await a.end;
    const b = t.candidate('b');
    b.network.status = 409;
    await t.clock.advance(20_000);
    expect(b.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    expect(b.forbidden()).toBe(0);
    b.network.status = 403;
    await t.clock.advance(20_000);
    expect(b.log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(b.forbidden()).toBeGreaterThan(3);
    b.stop();
    await b.end;
  });

  test('a lease of client-go that is not renewed is taken after its own duration', async () => {
    const t = await setUp();
    await t.resource.create({
      metadata: { name: 'lock' },
      spec: {
        holderIdentity: 'go',
        leaseDurationSeconds: 30,
        acquireTime: '2020-01-01T00:00:00.000000Z',
        renewTime: '2020-01-01T00:00:00.000000Z',
        leaseTransitions: 4,
      },
    });
    const a = t.candidate('a');
    await t.clock.advance(29_000);
    expect(t.leading.size).toBe(0);
    await t.clock.advance(6000);
    expect(await t.spec()).toMatchObject({ holderIdentity: 'a', leaseTransitions: 5, leaseDurationSeconds: 15 });
    a.stop();
    await a.end;
  });

  test('the lease is kept until the last step of the work has ended', async () => {
    const t = await setUp();
    const a = t.candidate('a', {
      lead: async (signal) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        await sleep(t.clock, 30_000);
      },
    });
    const b = t.candidate('b');
    await t.clock.advance(5000);
    a.stop();
    await t.clock.advance(29_000);
    expect(t.leading.size).toBe(0);
    await t.clock.advance(10_000);
    expect([...t.leading]).toEqual(['b']);
    b.stop();
    await b.end;
  });

  test('the last steps of a leader that has lost the lease are refused, although no other process has taken it', async () => {
    const t = await setUp();
    const ended = (signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    const refused: string[] = [];
    const a = t.candidate('a', {
      lead: async (signal, fence) => {
        await ended(signal);
        a.network.up = true;
        await fence.held().catch((error: Error) => refused.push(error.message));
      },
    });
    await t.clock.advance(5_000);
    a.network.up = false;
    await t.clock.advance(30_000);
    expect([await a.end, refused]).toEqual(['lost', ['the lease was lost']]);
  });

  test('a process that is stopped just as it becomes the leader gets an aborted signal, and releases the lease', async () => {
    const t = await setUp();
    const stop = new AbortController();
    const log = createMemoryLogger();
    const stopping = {
      ...log,
      info: (text: string) => text === 'leading' && stop.abort(new Error('stop')),
    } as typeof log;
    const { client, clock, random } = t;
    const lease = { namespace: 'default', name: 'lock' };
    const begun: boolean[] = [];
    const options = { client, lease, identity: 'a', clock, random, log: stopping, signal: stop.signal };
    expect(await runElected(options, async (signal) => void begun.push(signal.aborted))).toBe('stopped');
    expect([begun, (await t.spec())?.holderIdentity]).toEqual([[true], '']);
  });

  test('a release that the server refuses is no error', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    await t.clock.advance(1_000);
    a.network.status = 500;
    a.stop();
    expect(await a.end).toBe('stopped');
    expect(a.log.lines.some(({ message }) => message.startsWith('Cannot release the Lease'))).toBe(true);
  });

  describe('the fence', () => {
    const taken = async (t: Awaited<ReturnType<typeof setUp>>, holderIdentity: string) => {
      const lease = await t.resource.get('lock');
      const leaseTransitions = (lease.spec?.leaseTransitions ?? 0) + 1;
      await t.resource.update({ ...lease, spec: { ...lease.spec, holderIdentity, leaseTransitions } });
    };
    const version = async (t: Awaited<ReturnType<typeof setUp>>) =>
      (await t.resource.get('lock')).metadata.resourceVersion;

    test('the fence of an election needs no request after a recent renewal', async () => {
      const t = await setUp();
      const a = t.candidate('a');
      await t.clock.advance(5_000);
      const before = await version(t);
      await Promise.all(Array.from({ length: 100 }, () => a.confirm()));
      expect(await version(t)).toBe(before);
      a.stop();
      await a.end;
    });

    test('the fence renews the lease once for many callers after a suspension', async () => {
      const t = await setUp();
      const a = t.candidate('a');
      await t.clock.advance(5_000);
      t.clock.jump(60_000);
      const before = Number(await version(t));
      await Promise.all(Array.from({ length: 100 }, () => a.confirm()));
      expect(Number(await version(t))).toBe(before + 1);
      expect(await t.spec()).toMatchObject({ renewTime: '2026-01-01T00:01:05.000000Z' });
      a.stop();
      await a.end;
    });

    test.each(['usurper', ''])(
      'the fence rejects a write after a suspension if "%s" holds the lease',
      async (holder) => {
        const t = await setUp();
        const a = t.candidate('a');
        await t.clock.advance(5_000);
        await taken(t, holder);
        t.clock.jump(60_000);
        await expect(a.confirm()).rejects.toThrow(/409|modified/);
        expect((await t.spec())?.holderIdentity).toBe(holder);
        await t.clock.advance(2_000);
        expect(await a.end).toBe('lost');
        await expect(a.confirm()).rejects.toThrow('the lease was lost');
      },
    );

    test('the fence of an election counts the age of a renewal from its request, not from its answer', async () => {
      const t = await setUp();
      const a = t.candidate('a');
      await t.clock.advance(3_000);
      a.network.answersAfterMs = 7_500;
      await t.clock.advance(8_600);
      a.network.answersAfterMs = 0;
      t.clock.jump(3_000);
      const before = Number(await version(t));
      await a.confirm();
      expect(Number(await version(t))).toBe(before + 1);
      a.stop();
      await a.end;
    });

    test.each([
      { age: '9.9 s', jumpMs: 8_900, writes: 0 },
      { age: '10.1 s', jumpMs: 9_100, writes: 1 },
    ])(
      'the fence renews a lease of 15 s after its deadline of 10 s: $age cost $writes writes',
      async ({ jumpMs, writes }) => {
        const t = await setUp();
        const a = t.candidate('a');
        await t.clock.advance(5_000);
        t.clock.jump(jumpMs);
        const before = Number(await version(t));
        await a.confirm();
        expect(Number(await version(t))).toBe(before + writes);
        a.stop();
        await a.end;
      },
    );

    test('the fence rejects writes after the renew deadline without a network', async () => {
      const t = await setUp();
      const a = t.candidate('a');
      await t.clock.advance(5_000);
      a.network.up = false;
      await t.clock.advance(6_000);
      await a.confirm();
      await t.clock.advance(4_000);
      await expect(a.confirm()).rejects.toThrow('the lease was lost');
    });
  });

  test('an error of the work releases the lease and is thrown', async () => {
    const t = await setUp();
    const a = t.candidate('a', { lead: () => Promise.reject(new Error('bug')) });
    await t.clock.settle();
    await expect(a.end).rejects.toThrow('bug');
    expect((await t.spec())?.holderIdentity).toBe('');
  });

  test.each<[timings: ElectionTimings, renewMs: number | undefined, words: string]>([
    [{ leaseMs: 10_000, renewDeadlineMs: 10_000, retryMs: 2000 }, undefined, 'lease duration'],
    [{ leaseMs: 15_000, renewDeadlineMs: 2000, retryMs: 2000 }, undefined, 'renew deadline'],
    [{ leaseMs: 15_000, renewDeadlineMs: 2400, retryMs: 1000 }, 2000, '1.2 times the renew period (2000 ms)'],
    [{ leaseMs: 15_000, renewDeadlineMs: 2400, retryMs: 2000 }, 1000, '1.2 times the retry period (2000 ms)'],
  ])('timings that would allow two leaders are refused: %o, renewed every %s ms', async (timings, renewMs, words) => {
    const t = await setUp();
    const options = { timings, ...(renewMs === undefined ? {} : { renewMs }) };
    const { end } = t.candidate('a', options);
    const refused = end.then(String, String);
    // If a candidate accepted the timings, it would be the leader until the end of the test.
    expect(await Promise.race([refused, t.clock.settle().then(() => 'leads')])).toContain(words);
  });

  test('a stop during the first request is not an outage', async () => {
    const t = await setUp();
    const a = t.candidate('a');
    a.network.hangs = true;
    await t.clock.settle();
    a.stop();
    expect(await a.end).toBe('stopped');
    expect(a.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});

describe('quiet leaders', () => {
  const QUIET = { leaseMs: 90_000, renewDeadlineMs: 60_000, renewMs: 30_000 };

  async function quietSetUp() {
    const t = await setUp();
    const state = { quiet: true };
    const a = t.candidate('a', { renewMs: 4_000, quiet: { ...QUIET, now: () => state.quiet } });
    await t.clock.advance(10_000);
    const version = async () => (await t.resource.get('lock')).metadata.resourceVersion;
    return { ...t, a, state, version };
  }

  test('a quiet leader renews a longer Lease less often, and shortens the Lease when work arrives', async () => {
    const t = await quietSetUp();
    expect((await t.spec())?.leaseDurationSeconds).toBe(90);
    const renewals = new Set<string>();
    for (let second = 0; second < 300; second += 1) {
      await t.clock.advance(1_000);
      renewals.add(await t.version());
    }
    expect(renewals.size).toBeLessThanOrEqual(11);
    t.state.quiet = false;
    await t.clock.advance(30_000);
    expect((await t.spec())?.leaseDurationSeconds).toBe(15);
    await t.a.confirm();
    t.a.stop();
    expect(await t.a.end).toBe('stopped');
  });

  test('another candidate waits for the whole duration of a quiet Lease', async () => {
    const t = await quietSetUp();
    t.a.network.up = false;
    const b = t.candidate('b');
    await t.clock.advance(50_000);
    expect([...t.leading]).toEqual(['a']);
    await t.clock.advance(10_000);
    expect([...t.leading]).toEqual([]);
    await t.clock.advance(25_000);
    expect([...t.leading]).toEqual([]);
    await t.clock.advance(15_000);
    expect([...t.leading]).toEqual(['b']);
    b.stop();
    await b.end;
    expect(t.most()).toBe(1);
  });

  test('a shorter Lease whose response is lost ends the leadership after the shorter deadline', async () => {
    const t = await quietSetUp();
    t.state.quiet = false;
    // The API server executes the next renewal, but the process never gets the response.
    t.a.network.losesAnswers = true;
    const at = await t.version();
    while ((await t.version()) === at) await t.clock.advance(1_000);
    expect((await t.spec())?.leaseDurationSeconds).toBe(15);
    t.a.network.hangs = true;
    t.a.network.losesAnswers = false;
    const b = t.candidate('b');
    await t.clock.advance(8_000);
    expect([...t.leading]).toEqual(['a']);
    await t.clock.advance(4_000);
    expect([...t.leading]).toEqual([]);
    await t.clock.advance(10_000);
    expect([...t.leading]).toEqual(['b']);
    b.stop();
    await b.end;
    expect(t.most()).toBe(1);
  });

  test('the fence of a quiet leader sends no request between two renewals', async () => {
    const t = await quietSetUp();
    const at = await t.version();
    await t.clock.advance(20_000);
    await t.a.confirm();
    expect(await t.version()).toBe(at);
    t.a.stop();
    await t.a.end;
  });
});
