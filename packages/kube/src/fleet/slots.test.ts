import { expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { Transport } from '../contract/transport.ts';
import { Slots } from './slots.ts';

const request = (path: string, signal?: AbortSignal) => ({ method: 'GET', path, headers: {}, signal });

function setUp(perCluster: number, total: number) {
  const clock = new VirtualClock();
  const slots = new Slots({ perCluster, total, clock });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const transport: Transport = ({ path }) => {
    started.push(path);
    return new Promise((resolve) => ends.set(path, () => resolve(new Response())));
  };
  const cluster = (share = 1) => {
    const wrapped = slots.cluster(() => share).wrap(transport);
    return (path: string, signal?: AbortSignal) => wrapped(request(path, signal));
  };
  return { clock, slots, started, cluster, end: (path: string) => ends.get(path)?.() };
}

test('a cluster sends at most its number of requests, and watches are not counted', async () => {
  const t = setUp(2, 10);
  const send = t.cluster();
  const all = ['/1', '/2', '/3'].map((path) => send(path));
  void send('/w?watch=1');
  await t.clock.settle();
  expect(t.started).toEqual(['/w?watch=1', '/1', '/2']);
  t.end('/1');
  await t.clock.settle();
  expect(t.started.at(-1)).toBe('/3');
  for (const path of ['/2', '/3']) t.end(path);
  await Promise.all(all);
  expect(t.slots.running).toBe(0);
  expect(t.clock.pending).toBe(0);
});

test('free slots go to the clusters in turn', async () => {
  const t = setUp(10, 1);
  const [a, b] = [t.cluster(), t.cluster()];
  for (const path of ['/a1', '/a2', '/a3']) void a(path);
  for (const path of ['/b1', '/b2']) void b(path);
  await t.clock.settle();
  for (let turn = 0; turn < 4; turn++) {
    t.end(t.started.at(-1) ?? '');
    await t.clock.settle();
  }
  expect(t.started).toEqual(['/a1', '/a2', '/b1', '/a3', '/b2']);
});

test('a cluster with a larger share gets more of the free slots', async () => {
  const t = setUp(10, 1);
  const [a, b] = [t.cluster(3), t.cluster()];
  void b('/b0');
  for (let index = 1; index <= 6; index++) void a(`/a${index}`);
  for (const path of ['/b1', '/b2', '/b3']) void b(path);
  await t.clock.settle();
  for (let turn = 0; turn < 8; turn++) {
    t.end(t.started.at(-1) ?? '');
    await t.clock.settle();
  }
  expect(t.started.slice(1)).toEqual(['/a1', '/a2', '/a3', '/b1', '/a4', '/a5', '/a6', '/b2']);
});

test('a list costs as much as five other requests', async () => {
  const t = setUp(10, 1);
  const [a, b] = [t.cluster(), t.cluster()];
  void b('/b0');
  for (const path of ['/api/v1/nodes', '/api/v1/pods']) void a(path);
  for (let index = 1; index <= 8; index++) void b(`/b${index}`);
  await t.clock.settle();
  for (let turn = 0; turn < 8; turn++) {
    t.end(t.started.at(-1) ?? '');
    await t.clock.settle();
  }
  expect(t.started.slice(1)).toEqual(['/b1', '/b2', '/b3', '/b4', '/api/v1/nodes', '/b5', '/b6', '/b7']);
});

test('a request without an answer frees its slot of the total, but not that of its cluster', async () => {
  const t = setUp(1, 1);
  const [a, b] = [t.cluster(), t.cluster()];
  for (const path of ['/a1', '/a2']) void a(path);
  void b('/b1');
  await t.clock.settle();
  expect(t.started).toEqual(['/a1']);
  await t.clock.advance(5_000);
  expect(t.started).toEqual(['/a1', '/b1']);
  t.end('/a1');
  t.end('/b1');
  await t.clock.settle();
  expect(t.started).toEqual(['/a1', '/b1', '/a2']);
});

test('a request that is aborted while it waits takes no slot', async () => {
  const t = setUp(1, 1);
  const send = t.cluster();
  const first = send('/1');
  await t.clock.settle();
  const stop = new AbortController();
  const second = send('/2', stop.signal);
  stop.abort(new Error('stop'));
  await expect(second).rejects.toThrow('stop');
  t.end('/1');
  await first;
  expect(t.slots.running).toBe(0);
  expect(t.started).toEqual(['/1']);
});
