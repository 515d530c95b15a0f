import { describe, expect, test } from 'vitest';
import { createClient } from '../client/create-client.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { Change } from '../informer.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { seededRandom } from '../random.ts';
import { type Answer, ScriptedStream, scriptedTransport } from '../testing/scripted-server.ts';
import type { TransportRequest } from '../transport.ts';
import { type Node, nodes } from '../types/core.ts';
import { createInformer } from './create-informer.ts';

const node = (name: string, version: number, extra: Partial<Node> = {}, uid = `uid-${name}`) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, uid, resourceVersion: String(version), creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {},
  ...extra,
});
const list = (version: number, items: object[], next?: string): Answer => ({
  json: { metadata: { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) }, items },
});

const isWatch = (request: TransportRequest) => request.path.includes('watch=true');
const parameter = (request: TransportRequest | undefined, name: string) =>
  new URL(`http://x${request?.path ?? ''}`).searchParams.get(name);

/** Lists and watches come from two scripts, each of which gives its last answer for ever. */
function setUp(lists: Answer[], watches: Answer[], options: Partial<Parameters<typeof createInformer<Node>>[2]> = {}) {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const next = (answers: Answer[]) => (answers.length > 1 ? answers.shift() : answers[0]);
  const transport = scriptedTransport((request) => next(isWatch(request) ? watches : lists));
  const client = createClient({ transport, userAgent: 'test', clock });
  const informer = createInformer(client, nodes, { clock, log, random: seededRandom(1), freeze: true, ...options });
  const changes: string[] = [];
  informer.onChange((change: Change<Node>) => {
    changes.push(`${change.type} ${change.key}@${change.object.metadata.resourceVersion}`);
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  const names = () => informer.store.list().map((each) => each.metadata.name);
  const end = async () => {
    stop.abort(new Error('test over'));
    await running;
    expect(clock.pending).toBe(0);
  };
  return { clock, log, transport, informer, changes, names, end };
}

describe('informer', () => {
  test('lists page by page, watches from there, and applies events', async () => {
    const stream = new ScriptedStream();
    const t = setUp([list(10, [node('a', 1)], 'more'), list(10, [node('b', 2)])], [{ stream }], { pageSize: 1 });
    await t.informer.whenSynced();
    await t.clock.settle();
    expect(t.names()).toEqual(['a', 'b']);
    expect(t.transport.requests.map((r) => parameter(r, 'continue'))).toEqual([null, 'more', null]);
    expect(parameter(t.transport.requests[0], 'limit')).toBe('1');
    expect(parameter(t.transport.requests[2], 'resourceVersion')).toBe('10');
    stream.event('ADDED', node('c', 11));
    stream.event('MODIFIED', node('a', 12));
    stream.event('DELETED', node('b', 13));
    stream.event('BOOKMARK', { metadata: { resourceVersion: '20' } });
    await t.clock.settle();
    expect(t.changes).toEqual(['added a@1', 'added b@2', 'added c@11', 'updated a@12', 'deleted b@13']);
    await t.end();
    expect(stream.closed).toBe(true);
  });
});
