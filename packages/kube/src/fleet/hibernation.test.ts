import { startControlPlane } from '@mcm/control-plane';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { Transport } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { configMaps } from '../types/core.ts';
import { whenAsleep } from './hibernation.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

let clock: VirtualClock;
let plane: { readonly transport: Transport; close(): Promise<void> };
let client: KubeClient;
let term: AbortController;
let awake: AbortController;

beforeEach(async () => {
  clock = new VirtualClock();
  plane = await startControlPlane({ clock, controllers: false });
  client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  [term, awake] = [new AbortController(), new AbortController()];
});
afterEach(async () => {
  term.abort();
  awake.abort();
  await clock.settle();
  await plane.close();
});

const create = (name: string) => client.resource(configMaps, 'default').create({ metadata: { name } });

/** Starts the wait for a hibernation. */
function start(idle: () => boolean = () => true, from: KubeClient = client): () => string {
  let state = 'awake';
  const runtime = { clock, random: seededRandom(1), log: createMemoryLogger() };
  const content = [
    { definition: configMaps, busy: ({ metadata }: { metadata: { name: string } }) => metadata.name === 'busy' },
  ];
  const parts = { content, afterMs: 5 * MINUTE_MS, idle, client: from, namespace: 'default', runtime };
  void whenAsleep(parts, term.signal, awake.signal).then(async (hibernated) => {
    if (hibernated === undefined) return;
    state = 'asleep';
    await hibernated.sleep.woken;
    state = 'woken';
  });
  return () => state;
}

test('a cluster sleeps after the whole time without work, and wakes after 12 hours', async () => {
  let idle = true;
  const state = start(() => idle);
  await clock.advance(4 * MINUTE_MS);
  idle = false;
  await clock.advance(MINUTE_MS);
  idle = true;
  await clock.advance(4 * MINUTE_MS);
  expect(state()).toBe('awake');
  await clock.advance(2 * MINUTE_MS);
  expect(state()).toBe('asleep');
  await clock.advance(12 * HOUR_MS - 3 * MINUTE_MS);
  expect(state()).toBe('asleep');
  await clock.advance(4 * MINUTE_MS);
  expect(state()).toBe('woken');
});

test('a cluster with a busy object does not sleep until the object is deleted', async () => {
  await create('busy');
  await create('other');
  const state = start();
  await clock.advance(20 * MINUTE_MS);
  expect(state()).toBe('awake');
  await client.resource(configMaps, 'default').delete('busy');
  await clock.advance(6 * MINUTE_MS);
  expect(state()).toBe('asleep');
});

test('the watches are open before the sleep, so a change at any later time wakes the cluster', async () => {
  let lists = 0;
  const transport: Transport = async (request) => {
    const answer = await plane.transport(request);
    if (request.path.includes('/configmaps?') && !request.path.includes('watch=') && lists++ === 0)
      await create('late');
    return answer;
  };
  const state = start(undefined, createClient({ transport, userAgent: 'test', clock }));
  await clock.advance(5 * MINUTE_MS + 5_000);
  expect(['awake', 'woken']).toContain(state());
  expect(lists).toBeGreaterThan(0);
});

test('the end of the term while the cluster is about to sleep keeps the cluster awake', async () => {
  const state = start();
  await clock.advance(4 * MINUTE_MS);
  term.abort();
  await clock.advance(10 * MINUTE_MS);
  expect(state()).toBe('awake');
});

test('a signal ends the sleep', async () => {
  const state = start();
  await clock.advance(6 * MINUTE_MS);
  expect(state()).toBe('asleep');
  awake.abort();
  await clock.settle();
  expect(state()).toBe('woken');
});
