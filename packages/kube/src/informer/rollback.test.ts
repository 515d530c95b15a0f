import { startRestorablePlane } from '@mcm/control-plane';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { done } from '../contract/controller.ts';
import type { KubeObject } from '../contract/objects.ts';
import type { Transport } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { createController } from '../queue/create-controller.ts';
import { type Answer, ScriptedStream, scriptedTransport } from '../testing/scripted-server.ts';
import { namespaces, nodes, secrets } from '../types/core.ts';
import { createInformer } from './create-informer.ts';

async function setUp(wrap: (transport: Transport) => Transport = (transport) => transport) {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const plane = await startRestorablePlane({ clock, random: () => random.next(), controllers: false });
  const admin = createClient({ transport: plane.transport, userAgent: 'admin', clock });
  const log = createMemoryLogger();
  const runtime = { clock, random, log, freeze: true };
  const client = createClient({ transport: wrap(plane.transport), userAgent: 'test', clock });
  const informers = {
    secrets: createInformer(client, secrets, { ...runtime, namespace: 'default' }),
    namespaces: createInformer(client, namespaces, runtime),
  };
  const stop = new AbortController();
  const running = Promise.all(Object.values(informers).map((informer) => informer.run(stop.signal)));
  onTestFinished(async () => {
    stop.abort(new Error('test over'));
    await running;
    await plane.close();
  });
  const make = (name: string) =>
    admin.resource(secrets, 'default').create({ metadata: { name, namespace: 'default' } });
  const write = (name: string) =>
    admin.resource(secrets, 'default').patch(name, { type: 'merge', body: { metadata: { labels: { at: 'later' } } } });
  const names = () => informers.secrets.store.list().map(({ metadata }) => metadata.name);
  await clock.settle();
  return { clock, plane, admin, client, informers, runtime, make, write, names, stop };
}

test('objects that were created after the backup are removed from the caches', async () => {
  const t = await setUp();
  await t.make('kept');
  const backup = t.plane.snapshot();
  for (let n = 0; n < 300; n++) await t.make(`ghost-${n}`);
  await t.clock.settle();
  expect(t.names()).toHaveLength(301);
  await t.plane.restore(backup);
  await t.clock.advance(1_000);
  expect(t.names()).toEqual(['kept']);
  await t.make('new');
  await t.clock.settle();
  expect(t.names()).toEqual(['kept', 'new']);
  expect([t.client.history.rollbacks, t.informers.secrets.doubted]).toEqual([1, false]);
});

test('a restore with raised versions is detected by an object in an older version', async () => {
  const t = await setUp();
  await t.make('kept');
  const backup = t.plane.snapshot();
  await t.write('kept');
  await t.make('ghost');
  await t.clock.settle();
  await t.plane.restore(backup, { bumpRevision: 1_000_000 });
  await t.clock.advance(1_000);
  expect(t.names()).toEqual(['kept']);
  expect(t.informers.secrets.store.get('default/kept')?.metadata.labels).toBeUndefined();
  expect(t.client.history.rollbacks).toBe(1);
});

test('the answer of a write that a restore has undone does not change the cache', async () => {
  const late = Promise.withResolvers<void>();
  const t = await setUp((transport) => async (request) => {
    const answer = await transport(request);
    if (request.method === 'PATCH') await late.promise;
    return answer;
  });
  await t.make('kept');
  const backup = t.plane.snapshot();
  const body = { metadata: { labels: { at: 'lost' } } };
  const write = t.client.resource(secrets, 'default').patch('kept', { type: 'merge', body });
  await t.clock.settle();
  await t.plane.restore(backup);
  await t.clock.advance(1_000);
  late.resolve();
  t.informers.secrets.recordWrite(await write);
  expect(t.informers.secrets.store.get('default/kept')?.metadata.labels).toBeUndefined();
});

async function* lasting(body: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  for (;;) {
    const next = iterator.next().catch(() => new Promise<never>(() => undefined));
    const { done, value } = await Promise.race([next, aborted]);
    if (done) return;
    yield value;
  }
}

test('a restore behind an open connection is detected when the watch gets no data', async () => {
  let deaf = false;
  const t = await setUp((transport) => async (request) => {
    if (deaf || !request.path.includes('watch=')) return transport(request);
    const { signal, ...bare } = request;
    const answer = await transport(bare);
    return { ...answer, text: () => answer.text(), body: answer.body && lasting(answer.body, signal) };
  });
  await t.make('kept');
  const backup = t.plane.snapshot();
  await t.make('ghost');
  await t.clock.settle();
  await t.plane.restore(backup);
  deaf = true;
  await t.clock.advance(60_000);
  expect(t.names()).toEqual(['kept', 'ghost']);
  await t.clock.advance(60_000);
  expect(t.names()).toEqual(['kept']);
});

test('a restore behind an open connection is detected by the version of a created object', async () => {
  const t = await setUp((transport) => async (request) => {
    if (!request.path.includes('watch=')) return transport(request);
    const { signal, ...bare } = request;
    const answer = await transport(bare);
    return { ...answer, text: () => answer.text(), body: answer.body && lasting(answer.body, signal) };
  });
  await t.make('kept');
  const backup = t.plane.snapshot();
  for (let n = 0; n < 3; n++) await t.make(`ghost-${n}`);
  await t.clock.settle();
  const create = (name: string) =>
    t.client.resource(secrets, 'default').create({ metadata: { name, namespace: 'default' } });
  await create('own');
  expect(t.client.history.rollbacks).toBe(0);
  await t.plane.restore(backup);
  await create('new');
  expect([t.client.history.rollbacks, t.informers.secrets.proven]).toEqual([1, false]);
  await t.clock.advance(1_000);
  expect(t.names()).toEqual(['kept', 'new']);
  await create('newer');
  expect([t.client.history.rollbacks, t.informers.secrets.proven]).toEqual([1, true]);
});

test('after a long outage, a restore is detected although later writes raised the version above the cached one', async () => {
  let isCut = false;
  const open = new Set<AbortController>();
  const t = await setUp((transport) => async (request) => {
    if (isCut) throw new Error('connect ECONNREFUSED');
    const life = new AbortController();
    open.add(life);
    return transport({
      ...request,
      signal: AbortSignal.any([life.signal, ...(request.signal ? [request.signal] : [])]),
    });
  });
  await t.make('kept');
  const backup = t.plane.snapshot();
  await t.write('kept');
  await t.make('ghost');
  await t.clock.settle();
  isCut = true;
  for (const life of open) life.abort(new Error('read ECONNRESET'));
  await t.plane.restore(backup);
  for (let n = 0; n < 10; n++) await t.admin.resource(namespaces).create({ metadata: { name: `new-${n}` } });
  await t.clock.advance(40_000);
  isCut = false;
  await t.clock.advance(60_000);
  expect(t.names()).toEqual(['kept']);
  expect(t.informers.secrets.store.get('default/kept')?.metadata.labels).toBeUndefined();
  expect(t.client.history.rollbacks).toBe(1);
});

async function setUpOutage() {
  let isCut = false;
  const open = new Set<AbortController>();
  const paths: string[] = [];
  const t = await setUp((transport) => async (request) => {
    if (isCut) throw new Error('connect ECONNREFUSED');
    paths.push(request.path);
    const life = new AbortController();
    open.add(life);
    return transport({
      ...request,
      signal: AbortSignal.any([life.signal, ...(request.signal ? [request.signal] : [])]),
    });
  });
  const during = async (work: () => Promise<void>) => {
    isCut = true;
    for (const life of open) life.abort(new Error('read ECONNRESET'));
    await work();
    await t.clock.advance(2_000);
    isCut = false;
    paths.length = 0;
    await t.clock.advance(10_000);
  };
  const raise = async () => {
    for (let n = 0; n < 10; n++) await t.admin.resource(namespaces).create({ metadata: { name: `new-${n}` } });
  };
  const requests = (limit: number): number =>
    paths.filter((path) => path.includes('/secrets?') && path.includes(`limit=${limit}`)).length;
  const state = () => t.informers.secrets.store.list().map(({ metadata }) => [metadata.name, metadata.labels?.at]);
  return { ...t, during, raise, requests, state };
}

test('after a short outage, a restore is detected although later writes raised the version above the cached one', async () => {
  const t = await setUpOutage();
  await t.make('kept');
  const backup = t.plane.snapshot();
  await t.make('ghost');
  await t.write('kept');
  await t.clock.settle();
  await t.during(async () => {
    await t.plane.restore(backup);
    await t.raise();
  });
  expect(t.state()).toEqual([['kept', undefined]]);
  expect(t.client.history.rollbacks).toBe(1);
});

test('after a short outage, a restore is detected although the newest object was changed again after the restore', async () => {
  const t = await setUpOutage();
  await t.make('kept');
  const backup = t.plane.snapshot();
  await t.make('ghost');
  await t.write('kept');
  await t.clock.settle();
  await t.during(async () => {
    await t.plane.restore(backup);
    await t.raise();
    await t.write('kept');
  });
  expect(t.state()).toEqual([['kept', 'later']]);
  expect(t.client.history.rollbacks).toBe(1);
});

test('after a short outage, a restore is detected by a write of the process that the watch has not reported', async () => {
  const t = await setUpOutage();
  await t.make('kept');
  const backup = t.plane.snapshot();
  await t.clock.settle();
  await t.during(async () => {
    const written = await t.admin.resource(secrets, 'default').patch('kept', {
      type: 'merge',
      body: { metadata: { labels: { at: 'lost' } } },
    });
    t.informers.secrets.recordWrite(written);
    await t.plane.restore(backup);
    await t.raise();
  });
  expect(t.state()).toEqual([['kept', undefined]]);
});

test('after a short outage, the undone deletion of the last change is detected', async () => {
  const t = await setUpOutage();
  await t.make('deleted');
  await t.make('kept');
  const backup = t.plane.snapshot();
  await t.admin.resource(secrets, 'default').delete('deleted');
  await t.clock.settle();
  expect(t.names()).toEqual(['kept']);
  await t.during(async () => {
    await t.plane.restore(backup);
    await t.raise();
  });
  expect(t.names()).toEqual(['kept', 'deleted']);
});

test('after a short outage, a later change of an object that the process wrote is no sign of a restore', async () => {
  const t = await setUpOutage();
  await t.make('kept');
  await t.clock.settle();
  await t.during(async () => {
    const body = { metadata: { labels: { own: 'yes' } } };
    t.informers.secrets.recordWrite(await t.admin.resource(secrets, 'default').patch('kept', { type: 'merge', body }));
    await t.write('kept');
  });
  expect([t.state(), t.client.history.rollbacks]).toEqual([[['kept', 'later']], 0]);
});

test.each([
  ['unchanged', 1, ''],
  ['changed', 2, 'changed'],
  ['deleted', 2, 'deleted'],
])('after a short outage, a cache does not list if its newest object is %s', async (_, requests, what) => {
  const t = await setUpOutage();
  await t.make('other');
  await t.make('kept');
  await t.clock.settle();
  await t.during(async () => {
    if (what === 'changed') await t.write('kept');
    if (what === 'deleted') await t.admin.resource(secrets, 'default').delete('kept');
    await t.raise();
  });
  expect([t.requests(1), t.requests(500), t.client.history.rollbacks]).toEqual([requests, 0, 0]);
  expect(t.state()).toEqual(
    what === 'deleted'
      ? [['other', undefined]]
      : [
          ['other', undefined],
          ['kept', what === 'changed' ? 'later' : undefined],
        ],
  );
});

test('while a server starts no watches, a cache lists once in 30 seconds and otherwise requests only the version', async () => {
  const stream = new ScriptedStream();
  const refused: Answer = { fail: new Error('ECONNRESET') };
  const t = scripted([listed('20', 'a')], [{ stream }, refused]);
  await t.clock.settle();
  stream.fail(new Error('ECONNRESET'));
  await t.clock.advance(120_000);
  expect(t.completeLists()).toBeGreaterThan(1 + 2);
  expect(t.completeLists()).toBeLessThanOrEqual(1 + 4);
});

test('all caches of a server list again when one detects the restore, and controllers wait for all lists', async () => {
  let hold: PromiseWithResolvers<void> | undefined;
  const t = await setUp((transport) => async (request) => {
    if (hold && request.path.startsWith('/api/v1/namespaces?') && !request.path.includes('watch=')) await hold.promise;
    return transport(request);
  });
  const seen: string[] = [];
  const controller = createController({
    name: 'test',
    concurrency: 1,
    ...t.runtime,
    reconcile: async (key) => {
      seen.push(key);
      return done;
    },
  });
  controller.watch(t.informers.secrets, ({ key, type }) => [`${type} ${key}`]);
  controller.watch<KubeObject>(t.informers.namespaces, () => []);
  void controller.run(t.stop.signal);
  const backup = t.plane.snapshot();
  await t.make('ghost');
  await t.clock.settle();
  seen.length = 0;
  hold = Promise.withResolvers();
  await t.plane.restore(backup);
  await t.clock.advance(5_000);
  expect([t.names(), t.informers.namespaces.doubted, seen]).toEqual([[], true, []]);
  hold.resolve();
  await t.clock.advance(1_000);
  expect([t.informers.namespaces.doubted, seen]).toEqual([false, ['deleted default/ghost']]);
});

const node = (name: string, version: string) => ({
  metadata: { name, uid: name, resourceVersion: version, creationTimestamp: '2026-01-01T00:00:00Z' },
});

function scripted(lists: Answer[], watches: Answer[], during: (path: string) => void = () => undefined) {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const next = (answers: Answer[]) => (answers.length > 1 ? answers.shift() : answers[0]);
  const transport = scriptedTransport((request) => {
    const isWatch = request.path.includes('watch=true');
    if (!isWatch) during(request.path);
    return next(isWatch ? watches : lists);
  });
  const client = createClient({ transport, userAgent: 'test', clock });
  const informer = createInformer(client, nodes, { clock, log, random: seededRandom(1) });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  onTestFinished(async () => {
    stop.abort(new Error('test over'));
    await running;
  });
  const names = () => informer.store.list().map((each) => each.metadata.name);
  const completeLists = () => transport.requests.filter(({ path }) => path.includes('limit=500')).length;
  return { clock, client, informer, transport, names, completeLists };
}

const listed = (version: string, ...names: string[]): Answer => ({
  json: { metadata: { resourceVersion: version }, items: names.map((name) => node(name, version)) },
});

test('after a broken connection the version of the server is requested once, without a list', async () => {
  const stream = new ScriptedStream();
  const t = scripted([listed('20', 'a')], [{ stream }, { stream: new ScriptedStream() }]);
  await t.clock.settle();
  stream.fail(new Error('ECONNRESET'));
  await t.clock.advance(60_000);
  const asked = t.transport.requests.map(({ path }) => new URL(`http://x${path}`).searchParams);
  expect(asked.map((query) => query.get('limit') ?? query.get('resourceVersion'))).toEqual(['500', '20', '1', '20']);
  expect(t.client.history.rollbacks).toBe(0);
});

test.each(['BOOKMARK', 'ADDED'])(
  'a %s of an older version than the last event causes lists of all caches',
  async (type) => {
    const stream = new ScriptedStream();
    const t = scripted(
      [listed('20', 'a', 'ghost'), listed('12', 'a', 'b')],
      [{ stream }, { stream: new ScriptedStream() }],
    );
    await t.clock.settle();
    stream.event(type, node('b', '12'));
    await t.clock.advance(1_000);
    expect([t.names(), t.client.history.rollbacks]).toEqual([['a', 'b'], 1]);
    expect(t.completeLists()).toBe(2);
  },
);

test('a cache with an open watch lists again at once when another cache detects a restore', async () => {
  const stream = new ScriptedStream();
  const t = scripted([listed('20', 'a', 'ghost'), listed('12', 'a')], [{ stream }, { stream: new ScriptedStream() }]);
  await t.clock.settle();
  t.client.history.wentBack('another cache has evidence');
  await t.clock.settle();
  expect([t.names(), t.completeLists(), stream.closed]).toEqual([['a'], 2, true]);
});

test('a cache that waits before a retry lists again at once when another cache detects a restore', async () => {
  const stream = new ScriptedStream();
  const down: Answer = { fail: new Error('ECONNREFUSED') };
  const t = scripted([listed('20', 'a', 'ghost'), down, down, listed('12', 'a')], [{ stream }, 'never']);
  await t.clock.settle();
  stream.fail(new Error('ECONNRESET'));
  await t.clock.settle();
  t.client.history.wentBack('another cache has evidence');
  await t.clock.settle();
  t.client.history.wentBack('another cache has evidence');
  await t.clock.settle();
  expect(t.names()).toEqual(['a', 'ghost']);
  t.client.history.wentBack('another cache has evidence');
  await t.clock.settle();
  expect(t.names()).toEqual(['a']);
});

test('events that follow the detection of a restore in the same data are ignored', async () => {
  const stream = new ScriptedStream();
  const t = scripted([listed('20', 'a'), listed('12', 'a')], [{ stream }, 'never']);
  await t.clock.settle();
  t.informer.onChange(({ key }) => {
    if (key === 'b') t.client.history.wentBack('another cache has evidence');
  });
  const [b, ghost] = [node('b', '21'), node('ghost', '22')].map((object) => JSON.stringify({ type: 'ADDED', object }));
  stream.send(`${b}\n${ghost}\n`);
  await t.clock.settle();
  expect([t.names(), t.informer.doubted]).toEqual([['a'], false]);
});

test('a list whose pages are from before and after a restore is repeated', async () => {
  const { json } = listed('20', 'a', 'ghost') as { readonly json: { readonly metadata: object } };
  const first: Answer = { json: { ...json, metadata: { ...json.metadata, continue: 'second' } } };
  const during = (path: string) => {
    if (path.includes('continue=second')) t.client.history.wentBack('another cache has evidence');
  };
  const t = scripted([first, listed('20', 'b'), listed('12', 'a')], ['never'], during);
  await t.clock.settle();
  expect(t.names()).toEqual(['a']);
});

test('after a broken connection all caches list again if versions cannot be compared', async () => {
  const stream = new ScriptedStream();
  const t = scripted([listed('xyz', 'a', 'ghost'), listed('abc', 'a')], [{ stream }, { stream: new ScriptedStream() }]);
  await t.clock.settle();
  stream.fail(new Error('ECONNRESET'));
  await t.clock.advance(1_000);
  expect(t.names()).toEqual(['a']);
  expect(t.transport.requests.filter(({ path }) => !path.includes('watch='))).toHaveLength(3);
});
