import { beforeEach, expect, test } from 'vitest';
import type { Sink } from '../../apimachinery/http/exchange.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { Api, type PlaneClient } from '../client/api.ts';
import { PODS } from '../client/resources.ts';
import { settle, TestClock } from '../testing.ts';
import { Informer } from './informer.ts';

const pod = (name: string, resourceVersion: string, node: string, uid = name): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'a', uid, resourceVersion },
  node,
});

let clock: TestClock;
let listed: readonly ApiObject[];
let watches: { readonly from: string; readonly sink: Sink }[];
let stop: AbortController;
let pods: Informer;
let told: string[];

const client: PlaneClient = {
  async handle({ query }) {
    if (query.has('watch')) {
      const body = (sink: Sink): void => void watches.push({ from: query.get('resourceVersion') ?? '', sink });
      return { status: 200, headers: {}, body };
    }
    const list = { apiVersion: 'v1', kind: 'PodList', metadata: { resourceVersion: '9' }, items: listed };
    return { status: 200, headers: {}, body: JSON.stringify(list) };
  },
};

async function send(type: string, object: unknown): Promise<void> {
  watches.at(-1)?.sink.write(new TextEncoder().encode(JSON.stringify({ type, object })));
  await settle();
}

beforeEach(async () => {
  clock = new TestClock();
  listed = [pod('p', '1', 'n1'), pod('q', '2', 'n1')];
  watches = [];
  told = [];
  stop = new AbortController();
  pods = new Informer(new Api(client), clock, PODS, (object) => object, stop.signal);
  await pods.synced;
  await settle();
  return () => stop.abort();
});

const follow = (): (() => void) =>
  pods.onChange(({ type, object, old }) => told.push(`${type} ${object.metadata.uid} after ${old?.metadata.uid}`));

test('a handler first gets the existing objects, and then every change until it leaves', async () => {
  const leave = follow();
  expect(told.splice(0)).toEqual(['added p after undefined', 'added q after undefined']);
  await send('MODIFIED', pod('p', '10', 'n2'));
  await send('MODIFIED', pod('p', '10', 'n2'));
  await send('DELETED', pod('q', '11', 'n1'));
  await send('ADDED', pod('r', '12', 'n1'));
  expect(told.splice(0)).toEqual(['updated p after p', 'deleted q after q', 'added r after undefined']);
  leave();
  await send('DELETED', pod('r', '13', 'n1'));
  expect(told).toEqual([]);
  expect(pods.size).toBe(1);
});

test('an index follows all changes before the handlers', async () => {
  let onNode: (node: string) => ApiObject[] = () => [];
  const seen: string[][] = [];
  pods.onChange(() => seen.push(onNode('n1').map(({ metadata }) => metadata.uid ?? '')));
  seen.length = 0;
  onNode = pods.index(({ node }) => [String(node)]);
  await send('MODIFIED', pod('p', '10', 'n2'));
  await send('DELETED', pod('q', '11', 'n1'));
  expect(seen).toEqual([['q'], []]);
  expect(onNode('n2')).toEqual([pod('p', '10', 'n2')]);
});

test('an index finds the newest object after an update with the same words, and equal functions share an index', async () => {
  let calls = 0;
  const byNode = ({ node }: ApiObject): string[] => {
    calls++;
    return [String(node)];
  };
  const onNode = pods.index(byNode);
  const before = calls;
  expect(pods.index(byNode)).toBe(onNode);
  expect(calls).toBe(before);
  const newer = { ...pod('p', '10', 'n1'), other: true };
  await send('MODIFIED', newer);
  expect(onNode('n1')).toEqual([newer, pod('q', '2', 'n1')]);
});

test('after the code 410, a new list replaces the cache at once', async () => {
  follow();
  told.length = 0;
  listed = [pod('p', '20', 'n1', 'p2'), pod('q', '2', 'n1')];
  await send('ERROR', { kind: 'Status', code: 410 });
  expect(told.splice(0)).toEqual(['deleted p after p', 'added p2 after undefined']);
  listed = [pod('p', '20', 'n1', 'p2')];
  await send('ERROR', { kind: 'Status', code: 410 });
  expect(told).toEqual(['deleted q after q']);
});

test('after any other error, the next list waits a second; an ended watch continues at its last version', async () => {
  await send('ADDED', pod('r', '12', 'n1'));
  watches.at(-1)?.sink.end();
  await settle();
  expect(watches.map(({ from }) => from)).toEqual(['9', '12']);
  await send('ERROR', { kind: 'Status', code: 500 });
  await clock.advance(999);
  expect(watches).toHaveLength(2);
  await clock.advance(1);
  expect(watches.map(({ from }) => from)).toEqual(['9', '12', '9']);
});

test('a stopped cache reports no changes, and sends no more requests', async () => {
  follow();
  told.length = 0;
  pods.stop();
  await send('MODIFIED', pod('p', '10', 'n2'));
  watches.at(-1)?.sink.end();
  await clock.advance(60_000);
  expect(told).toEqual([]);
  expect(watches).toHaveLength(1);
});
