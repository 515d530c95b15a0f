import { afterEach, expect, test, vi } from 'vitest';
import { StillClock, startTestPlane } from '../testing.ts';

const EVENTS = '/api/v1/namespaces/default/events';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let setup: Awaited<ReturnType<typeof startTestPlane>> | undefined;
afterEach(() => setup?.plane.close());

async function start(options: { eventTtlMs?: number } = {}) {
  const clock = new StillClock();
  setup = await startTestPlane({ ...options, clock });
  const { client } = setup;
  const names = async (): Promise<(string | undefined)[]> =>
    (await client.send('GET', EVENTS)).body.items.map(({ metadata }) => metadata.name);
  const record = (name: string) =>
    client.send('POST', EVENTS, {
      metadata: { name },
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    });
  return { clock, client, names, record };
}

test('an event is deleted an hour after its last write', async () => {
  const { clock, client, names, record } = await start();
  await record('old');
  await record('repeated');
  await clock.advance(30 * MINUTE);
  const count = { 'content-type': 'application/merge-patch+json' };
  expect((await client.send('PATCH', `${EVENTS}/repeated`, { count: 2 }, count)).status).toBe(200);
  await clock.advance(29 * MINUTE);
  expect(await names()).toEqual(['old', 'repeated']);
  await clock.advance(2 * MINUTE);
  expect(await names()).toEqual(['repeated']);
  await clock.advance(30 * MINUTE);
  expect(await names()).toEqual([]);
});

test('there is one timer for all events, and none without events', async () => {
  const { clock, client, names, record } = await start();
  const before = clock.pending;
  for (let i = 0; i < 50; i++) await record(`e${i}`);
  expect(clock.pending).toBe(before + 1);
  for (const name of await names()) await client.send('DELETE', `${EVENTS}/${name}`);
  await clock.advance(HOUR + MINUTE);
  expect(clock.pending).toBe(before);
});

test('events remain with a TTL of 0', async () => {
  const { clock, names, record } = await start({ eventTtlMs: 0 });
  await record('kept');
  await clock.advance(24 * HOUR);
  expect(await names()).toEqual(['kept']);
});

test('a closed control plane deletes no events', async () => {
  const { clock, record } = await start();
  await record('left');
  const cancelled = vi.fn();
  await setup?.plane.close();
  setup = undefined;
  await clock.advance(2 * HOUR).then(cancelled);
  expect([cancelled.mock.calls.length, clock.pending]).toEqual([1, 0]);
});
