import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MemoryStore } from '../../store/memory-store.ts';
import { settle, startTestPlane, type WatchEvent } from '../../testing.ts';
import { isThorough } from '../../thorough.testing.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const minute = 60_000;

let setup: Awaited<ReturnType<typeof startTestPlane>>;

beforeEach(async () => {
  setup = await startTestPlane();
});

afterEach(() => setup.plane.close());

const create = (name: string, labels: Record<string, string> = {}) =>
  setup.client.send('POST', PATH, { metadata: { name, labels } });
const patch = (name: string, body: object) =>
  setup.client.send('PATCH', `${PATH}/${name}`, body, { 'content-type': 'application/merge-patch+json' });
const names = (events: readonly WatchEvent[]) =>
  events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`.trim());

test('a watch from 0 starts with existing objects and continues with changes', async () => {
  await create('a');
  const watch = await setup.client.watch(`${PATH}?watch=1`);
  await create('b');
  await setup.client.send('DELETE', `${PATH}/a`);
  await settle();
  expect(names(watch.events)).toEqual(['ADDED a', 'ADDED b', 'DELETED a']);
  const versions = watch.events.map(({ object }) => Number(object.metadata.resourceVersion));
  expect(versions).toEqual([...versions].sort((x, y) => x - y));
});

test('a change that starts to match, still matches or no longer matches the selector is ADDED, MODIFIED or DELETED', async () => {
  await create('a', { on: 'no' });
  const watch = await setup.client.watch(`${PATH}?watch=1&labelSelector=on%3Dyes`);
  await patch('a', { metadata: { labels: { on: 'yes' } } });
  await patch('a', { data: { k: 'v' } });
  const left = await patch('a', { metadata: { labels: { on: 'no' } } });
  await setup.client.send('DELETE', `${PATH}/a`);
  await settle();
  expect(names(watch.events)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
  const { metadata, data } = watch.events[2]?.object ?? left.body;
  expect(metadata.labels).toEqual({ on: 'yes' });
  expect(metadata.resourceVersion).toBe(left.body.metadata.resourceVersion);
  expect(data).toEqual({ k: 'v' });
});

test('a change of a service is shown as it is stored, and the state as it is read', async () => {
  const services = '/api/v1/namespaces/default/services';
  const policies = (events: readonly WatchEvent[]) =>
    events.map(({ object }) => (object.spec as { internalTrafficPolicy?: string }).internalTrafficPolicy);
  const live = await setup.client.watch(`${services}?watch=1&fieldSelector=metadata.name%3Ds`);
  await setup.client.send('POST', services, { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } });
  const external = { spec: { type: 'ExternalName', externalName: 'a.b' } };
  const headers = { 'content-type': 'application/merge-patch+json' };
  await setup.client.send('PATCH', `${services}/s`, external, headers);
  const state = await setup.client.watch(`${services}?watch=1&fieldSelector=metadata.name%3Ds`);
  await settle();
  expect(policies(live.events)).toEqual(['Cluster', 'Cluster']);
  expect(policies(state.events)).toEqual([undefined]);
});

test('a streaming list ends its state with a bookmark', async () => {
  await create('a');
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const watch = await setup.client.watch(`${PATH}?${query}`);
  await settle();
  expect(names(watch.events)).toEqual(['ADDED a', 'BOOKMARK']);
  expect(watch.events[1]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
});

test('bookmarks are sent each minute and before the end, with versions of writes to other resources', async () => {
  const watch = await setup.client.watch(
    `${PATH}?watch=1&allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
  );
  const other = await setup.client.send('POST', '/api/v1/namespaces', { metadata: { name: 'other' } });
  await setup.clock.advance(minute);
  expect(names(watch.events)).toEqual(['BOOKMARK']);
  expect(watch.events[0]?.object.metadata.resourceVersion).toBe(other.body.metadata.resourceVersion);
  await setup.clock.advance(30_000);
  expect(names(watch.events)).toEqual(['BOOKMARK', 'BOOKMARK']);
  expect(watch.state.ended).toBe(true);
  expect(setup.clock.pending).toBe(0);
});

test('a compacted version causes one ERROR event with 410', async () => {
  const first = await create('a');
  await setup.clock.advance(6 * minute);
  await create('b');
  await setup.clock.advance(6 * minute);
  await create('c');
  const watch = await setup.client.watch(`${PATH}?watch=1&resourceVersion=${first.body.metadata.resourceVersion}`);
  await settle();
  expect(watch.status).toBe(200);
  expect(watch.events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
  expect(watch.state.ended).toBe(true);
});

test('a watch waits for a future version, and is then refused', async () => {
  const answer = setup.client.send('GET', `${PATH}?resourceVersion=999999`);
  await setup.clock.advance(3000);
  expect((await answer).body).toMatchObject({ code: 504, reason: 'Timeout', details: { retryAfterSeconds: 1 } });
});

test.runIf(isThorough)('a client that does not read is disconnected; others get all events', async () => {
  await create('a');
  const lazy = await setup.plane.fetch(new Request(`https://plane${PATH}?watch=1`));
  const eager = await setup.client.watch(`${PATH}?watch=1`);
  const changes = 18_000;
  const big = 'x'.repeat(200);
  for (let index = 0; index < changes; index++) await patch('a', { data: { k: `${index} ${big}` } });
  await settle();
  expect(eager.events).toHaveLength(changes + 1);
  let read = 0;
  for await (const chunk of lazy.body ?? []) read += Buffer.from(chunk).toString().split('\n').length - 1;
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(changes);
});

test('unread large objects are limited by their size, and the watch can be resumed where it was disconnected', async () => {
  await create('a');
  const lazy = await setup.plane.fetch(new Request(`https://plane${PATH}?watch=1`));
  const changes = 42;
  const big = 'x'.repeat(900_000);
  for (let index = 0; index < changes; index++) await patch('a', { data: { k: `${index} ${big}` } });
  let text = '';
  for await (const chunk of lazy.body ?? []) text += Buffer.from(chunk).toString();
  const seen = text.split('\n').filter((line) => line !== '');
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.length).toBeLessThan(changes);
  const last = (JSON.parse(seen.at(-1) ?? '') as WatchEvent).object.metadata.resourceVersion;
  const rest = await setup.client.watch(`${PATH}?watch=1&resourceVersion=${last}`);
  const missed = changes + 1 - seen.length;
  for (let turn = 0; rest.events.length < missed && turn < 10 * changes; turn++) await settle();
  expect(rest.events).toHaveLength(missed);
});

test('a watch whose client disconnects has no timers', async () => {
  const watch = await setup.client.watch(`${PATH}?watch=1&allowWatchBookmarks=true`);
  expect(setup.clock.pending).toBeGreaterThan(0);
  watch.close();
  await settle();
  expect(setup.clock.pending).toBe(0);
});

const POD = { containers: [{ name: 'c', image: 'i' }] };
const PODS = '/api/v1/namespaces/default/pods';
const createPod = (name: string, nodeName: string) =>
  setup.client.send('POST', PODS, { metadata: { name }, spec: { ...POD, nodeName } });
const setPhase = (name: string, phase: string) =>
  setup.client.send(
    'PATCH',
    `${PODS}/${name}/status`,
    { status: { phase } },
    { 'content-type': 'application/merge-patch+json' },
  );

test('a changed field adds an object to a watch and removes it again', async () => {
  const watch = await setup.client.watch('/api/v1/pods?watch=1&fieldSelector=status.phase%3DRunning');
  const other = await setup.client.watch('/api/v1/pods?watch=1&fieldSelector=status.phase%3DFailed');
  await createPod('a', 'n');
  for (const phase of ['Running', 'Failed', 'Running']) await setPhase('a', phase);
  await settle();
  expect(names(watch.events)).toEqual(['ADDED a', 'DELETED a', 'ADDED a']);
  expect(names(other.events)).toEqual(['ADDED a', 'DELETED a']);
});

test('lists, watches and deletions of a collection read only matching objects', async () => {
  for (let index = 0; index < 20; index++) await createPod(`other-${index}`, `node-${index}`);
  for (const name of ['a', 'b']) await createPod(name, 'mine');
  const looked: number[] = [];
  const list = MemoryStore.prototype.list;
  const spy = vi.spyOn(MemoryStore.prototype, 'list').mockImplementation(function (this: MemoryStore, ...args) {
    const page = list.apply(this, args);
    if (args[0] === '/pods') looked.push(page.records.length);
    return page;
  });
  try {
    const query = 'fieldSelector=spec.nodeName%3Dmine';
    const listed = await setup.client.send('GET', `/api/v1/pods?${query}`);
    expect(listed.body.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    await setup.client.send('GET', '/api/v1/pods?fieldSelector=metadata.name%3Da');
    const watch = await setup.client.watch(`/api/v1/pods?watch=1&${query}`);
    await settle();
    expect(names(watch.events)).toEqual(['ADDED a', 'ADDED b']);
    await setup.client.send('DELETE', `${PODS}?${query}&gracePeriodSeconds=0`);
    expect(looked).toEqual([2, 1, 2, 2]);
  } finally {
    spy.mockRestore();
  }
});
