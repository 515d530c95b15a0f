import { startControlPlane } from '@mcm/control-plane';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { isWatch } from '../client/paths.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { Transport } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { configMaps, secrets } from '../types/core.ts';
import { createInformer } from './create-informer.ts';
import { Demand } from './demand.ts';

const LINGER_MS = 60_000;

async function setUp(wrap: (transport: Transport) => Transport = (transport) => transport) {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, controllers: false });
  const admin = createClient({ transport: plane.transport, userAgent: 'admin', clock });
  const open = new Set<AbortSignal>();
  const sent: string[] = [];
  const counted: Transport = async (request) => {
    sent.push(request.path);
    const { signal } = request;
    if (isWatch(request.path) && signal !== undefined) {
      open.add(signal);
      signal.addEventListener('abort', () => open.delete(signal), { once: true });
    }
    return wrap(plane.transport)(request);
  };
  const client = createClient({ transport: counted, userAgent: 'test', clock });
  const demand = new Demand({ clock, lingerMs: LINGER_MS });
  const runtime = { clock, random: seededRandom(1), log: createMemoryLogger(), freeze: true };
  const informers = {
    secrets: createInformer(client, secrets, { ...runtime, namespace: 'default', demand }),
    maps: createInformer(client, configMaps, { ...runtime, namespace: 'default', demand }),
  };
  const changes: string[] = [];
  informers.secrets.onChange(({ type, key }) => changes.push(`${type} ${key}`));
  const stop = new AbortController();
  const running = Promise.all(Object.values(informers).map((informer) => informer.run(stop.signal)));
  const end = async (): Promise<void> => {
    stop.abort(new Error('test over'));
    await running;
  };
  onTestFinished(async () => {
    await end();
    await plane.close();
  });
  const make = (name: string) => admin.resource(secrets, 'default').create({ metadata: { name } });
  const names = () => informers.secrets.store.list().map(({ metadata }) => metadata.name);
  await clock.settle();
  return { clock, admin, demand, informers, sent, changes, make, names, end, watches: () => open.size };
}

test('without users, an informer sends no request, and its controllers do not wait for it', async () => {
  const t = await setUp();
  await t.make('a');
  await t.clock.advance(600_000);
  expect(t.sent).toEqual([]);
  expect(t.demand.ready).toBe(false);
  expect([t.informers.secrets.closed, t.informers.secrets.synced, t.informers.secrets.proven]).toEqual([
    true,
    false,
    false,
  ]);
  await t.informers.secrets.whenSynced();
});

test('the first user opens all informers, and is woken once when all caches are complete', async () => {
  const t = await setUp();
  await t.make('a');
  const woken: string[] = [];
  expect(t.demand.want('one', () => woken.push(`one ${t.names().join()}`))).toBe(false);
  expect(t.informers.secrets.closed).toBe(false);
  await t.clock.settle();
  expect(woken).toEqual(['one a']);
  expect(t.demand.want('two', () => woken.push('two'))).toBe(true);
  await t.make('b');
  await t.clock.settle();
  expect([t.names(), woken]).toEqual([['a', 'b'], ['one a']]);
});

test('the informers close some time after the last user, and a later user gets the newest objects', async () => {
  const t = await setUp();
  await t.make('a');
  for (const user of ['one', 'two']) t.demand.want(user, () => undefined);
  await t.clock.settle();
  t.demand.release('one');
  await t.clock.advance(2 * LINGER_MS);
  expect(t.watches()).toBe(2);
  t.demand.release('two');
  await t.clock.advance(LINGER_MS / 2);
  t.demand.want('two', () => undefined);
  await t.clock.advance(2 * LINGER_MS);
  expect(t.watches()).toBe(2);
  t.demand.release('two');
  await t.clock.advance(LINGER_MS + 1);
  expect([t.watches(), t.names(), t.changes]).toEqual([0, [], ['added default/a', 'deleted default/a']]);
  await t.admin.resource(secrets, 'default').delete('a');
  await t.make('b');
  let woken = false;
  t.demand.want('three', () => {
    woken = true;
  });
  expect(t.demand.ready).toBe(false);
  await t.clock.settle();
  expect([woken, t.names(), t.watches()]).toEqual([true, ['b'], 2]);
});

test('a refused kind does not block the users of the other kinds', async () => {
  const refuse: (transport: Transport) => Transport = (transport) => async (request) =>
    request.path.includes('/configmaps')
      ? Response.json({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' }, { status: 403 })
      : transport(request);
  const t = await setUp(refuse);
  let woken = false;
  t.demand.want('one', () => {
    woken = true;
  });
  await t.clock.settle();
  expect([woken, t.demand.ready]).toEqual([true, true]);
});

test('a stopped process leaves no timer', async () => {
  const t = await setUp();
  t.demand.want('one', () => undefined);
  await t.clock.settle();
  t.demand.release('one');
  await t.end();
  expect(t.clock.pending).toBe(0);
});
