import { startRestorablePlane } from '@mcm/control-plane';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { Transport } from '../contract/transport.ts';
import { silentLogger } from '../log/memory-logger.ts';
import { type Lease, leases } from '../types/groups.ts';
import { LeaseAnnotations } from '../types/lease-annotations.ts';
import { runElected } from './run-elected.ts';
import { leaseVacancies, vacancyAnnotation } from './vacancies.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function setUp() {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const plane = await startRestorablePlane({ clock, random: () => random.next(), controllers: false });
  const startedAt = clock.now().getTime();
  const stops: (() => Promise<unknown>)[] = [];
  onTestFinished(async () => {
    for (const stop of stops) await stop();
    await plane.close();
  });
  const candidate = (identity: string, wrap = (transport: Transport): Transport => transport) => {
    const client = createClient({ transport: wrap(plane.transport), userAgent: identity, clock });
    const life = new AbortController();
    const lease = { namespace: 'default', name: 'lock' };
    const options = { client, lease, identity, clock, random, log: silentLogger, signal: life.signal };
    const end = runElected(
      options,
      (term) => new Promise((resolve) => term.addEventListener('abort', () => resolve())),
    );
    const stop = (): Promise<unknown> => {
      life.abort(new Error('stopped'));
      return end;
    };
    stops.push(stop);
    const minutes = () =>
      client.history.vacancies.map(({ from, to }) =>
        [from, to].map((time) => Math.round((time.getTime() - startedAt) / MINUTE)),
      );
    return { stop, minutes };
  };
  const lease = () =>
    createClient({ transport: plane.transport, userAgent: 'test', clock }).resource(leases, 'default').get('lock');
  return { clock, plane, candidate, lease };
}

test('a process that takes a restored Lease records the period since the backup, and its successor reads it', async () => {
  const { clock, plane, candidate, lease } = await setUp();
  const first = candidate('first');
  await clock.advance(10 * MINUTE);
  const backup = plane.snapshot();
  await clock.advance(50 * MINUTE);
  await first.stop();
  await plane.restore(backup);
  const second = candidate('second');
  await clock.advance(MINUTE);
  expect([first.minutes(), second.minutes()]).toEqual([[], [[10, 60]]]);
  const { resourceVersion } = (await lease()).metadata;
  await second.stop();
  const third = candidate('third');
  await clock.advance(MINUTE);
  expect(third.minutes()).toEqual([[10, 60]]);
  expect(Number((await lease()).metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion));
});

test('a process whose first write was not answered also records the period', async () => {
  const { clock, candidate } = await setUp();
  const first = candidate('first');
  await clock.advance(MINUTE);
  await first.stop();
  await clock.advance(10 * MINUTE);
  let isLost = true;
  const second = candidate('second', (transport) => async (request) => {
    const answer = await transport(request);
    if (request.method === 'GET' || !isLost) return answer;
    isLost = false;
    throw new Error('read ECONNRESET');
  });
  await clock.advance(MINUTE);
  expect([isLost, second.minutes()]).toEqual([false, [[1, 11]]]);
});

test('a hand-over records no period without a holder', async () => {
  const { clock, candidate, lease } = await setUp();
  const first = candidate('first');
  await clock.advance(10 * MINUTE);
  await first.stop();
  const second = candidate('second');
  await clock.advance(MINUTE);
  expect([second.minutes(), (await lease()).metadata.annotations]).toEqual([[], undefined]);
});

const lease = (renewTime: string, vacancies?: string): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  spec: { holderIdentity: 'a', renewTime },
  metadata: {
    name: 'lock',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '',
    ...(vacancies === undefined ? {} : { annotations: { [LeaseAnnotations.Vacancies]: vacancies } }),
  },
});

const NOON = Date.parse('2026-01-01T12:00:00Z');
const at = (ms: number): string => new Date(NOON + ms).toISOString();

test('a Lease keeps the periods of the last day, at most eight', () => {
  const times = Array.from({ length: 9 }, (_, n) => `${at((n - 30) * HOUR)}/${at((n - 30) * HOUR + MINUTE)}`);
  const day = vacancyAnnotation(lease(at(0), times.join(',')), new Date(NOON));
  expect(day[LeaseAnnotations.Vacancies]?.split(',')).toEqual(times.slice(6));
  const many = Array.from({ length: 9 }, (_, n) => `${at((n - 10) * HOUR)}/${at((n - 10) * HOUR + MINUTE)}`);
  const most = vacancyAnnotation(lease(at(-HOUR), many.join(',')), new Date(NOON));
  expect(most[LeaseAnnotations.Vacancies]?.split(',')).toEqual([...many.slice(2), `${at(-HOUR)}/${at(0)}`]);
});

test.each([
  '',
  'yesterday',
  '2026-01-01T00:00:00Z',
  '2026-01-02T00:00:00Z/2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00Z/2026-01-01T00:00:00Z',
  '/,/',
])('an invalid annotation %j contains no period', (value) => {
  expect(leaseVacancies(lease(at(0), value))).toEqual([]);
});

test('a period of two minutes is recorded, and one that ended a day ago is removed', () => {
  const recorded = (renewedMs: number, vacancies?: string) =>
    vacancyAnnotation(lease(at(renewedMs), vacancies), new Date(NOON));
  expect(recorded(-2 * MINUTE)).toEqual({ [LeaseAnnotations.Vacancies]: `${at(-2 * MINUTE)}/${at(0)}` });
  expect(recorded(1 - 2 * MINUTE)).toEqual({});
  const ended = (ms: number) => `${at(-30 * HOUR)}/${at(ms)}`;
  expect(recorded(0, ended(-24 * HOUR))).toEqual({ [LeaseAnnotations.Vacancies]: '' });
  expect(recorded(0, ended(1 - 24 * HOUR))).toEqual({ [LeaseAnnotations.Vacancies]: ended(1 - 24 * HOUR) });
});

test('a Lease without a valid renewTime contains no period', () => {
  expect(vacancyAnnotation(lease('never'), new Date(NOON))).toEqual({});
});
