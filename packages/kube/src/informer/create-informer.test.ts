import { describe, expect, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { Change } from '../contract/informer.ts';
import type { TransportRequest } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { type Answer, ScriptedStream, scriptedTransport, status } from '../testing/scripted-server.ts';
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

/** Creates an informer with scripted responses. */
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
  test('an informer lists page by page, then watches and applies events', async () => {
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

describe('failures', () => {
  const warnings = (t: ReturnType<typeof setUp>) =>
    t.log.lines.filter((line) => line.level === 'warn').map((line) => line.message);

  test('a broken watch continues after the last event', async () => {
    const first = new ScriptedStream();
    const second = new ScriptedStream();
    const t = setUp([list(10, [node('a', 1)]), list(14, [node('a', 14)])], [{ stream: first }, { stream: second }]);
    await t.clock.settle();
    first.event('MODIFIED', node('a', 14));
    first.fail(new Error('ECONNRESET'));
    await t.clock.advance(1000);
    expect(parameter(t.transport.requests.at(-1), 'resourceVersion')).toBe('14');
    second.event('MODIFIED', node('a', 15));
    await t.clock.settle();
    expect(t.changes).toEqual(['added a@1', 'updated a@14', 'updated a@15']);
    await t.end();
  });

  test('half a line at the end of a stream is ignored', async () => {
    const first = new ScriptedStream();
    const second = new ScriptedStream();
    const t = setUp([list(10, [])], [{ stream: first }, { stream: second }]);
    await t.clock.advance(2000);
    first.send('{"type":"ADDED","object":{"metadata":{"name":"half"');
    first.end();
    await t.clock.settle();
    expect(t.changes).toEqual([]);
    expect(parameter(t.transport.requests.at(-1), 'resourceVersion')).toBe('10');
    await t.end();
  });

  test('after a 410 an informer lists again and reports the difference', async () => {
    const first = new ScriptedStream();
    const t = setUp(
      [list(10, [node('stays', 1), node('goes', 2)]), list(30, [node('stays', 1), node('comes', 25)])],
      [{ stream: first }, { stream: new ScriptedStream() }],
    );
    await t.clock.settle();
    first.event('ERROR', { kind: 'Status', code: 410, message: 'too old resource version' });
    await t.clock.settle();
    expect(t.changes).toEqual(['added stays@1', 'added goes@2', 'added comes@25', 'deleted goes@2']);
    expect(warnings(t)).toEqual([]);
    await t.end();
  });

  test('a server that answers every watch with 410 gets few requests', async () => {
    const t = setUp([list(10, [])], [status(410, 'Expired', 'no')]);
    await t.clock.advance(60_000);
    expect(t.transport.requests.length).toBeLessThan(40);
    expect(warnings(t).length).toBe(1);
    await t.end();
  });

  test('expired pages are requested again, and finally the list in one piece', async () => {
    const expired = status(410, 'Expired', 'continue token expired');
    const t = setUp(
      [
        list(10, [node('a', 1)], 'x'),
        expired,
        list(11, [node('a', 1)], 'x'),
        expired,
        list(12, [node('a', 1), node('b', 2)]),
      ],
      [{ stream: new ScriptedStream() }],
      { pageSize: 1 },
    );
    await t.clock.advance(5000);
    expect(t.informer.synced).toBe(true);
    expect(t.names()).toEqual(['a', 'b']);
    expect(t.transport.requests.filter((r) => !isWatch(r)).map((r) => parameter(r, 'limit'))).toEqual([
      '1',
      '1',
      '1',
      '1',
      null,
    ]);
    await t.end();
  });

  test('a 429 is retried after its time', async () => {
    const busy: Answer = {
      status: 429,
      headers: { 'retry-after': '7' },
      json: { kind: 'Status', code: 429, message: 'busy' },
    };
    const t = setUp([list(10, [])], [busy, { stream: new ScriptedStream() }]);
    await t.clock.advance(6900);
    expect(t.transport.requests.filter(isWatch).length).toBe(1);
    await t.clock.advance(2000);
    expect(t.transport.requests.filter(isWatch).length).toBe(2);
    await t.end();
  });

  test('a watch without data is opened again at the last version', async () => {
    const second = new ScriptedStream();
    const t = setUp([list(10, [])], [{ stream: new ScriptedStream() }, { stream: second }], { dataTimeoutMs: 90_000 });
    await t.clock.advance(89_000);
    expect(t.informer.sinceDataMs()).toBe(89_000);
    await t.clock.advance(2000);
    expect(parameter(t.transport.requests.at(-1), 'resourceVersion')).toBe('10');
    expect(t.transport.requests.filter(isWatch).length).toBe(2);
    expect(warnings(t)).toEqual(['Watch received no data for too long; opening the watch again']);
    second.event('BOOKMARK', { metadata: { resourceVersion: '60' } });
    await t.clock.advance(10);
    expect(t.informer.sinceDataMs()).toBe(10);
    await t.end();
  });

  test('a server that accepts connections but sends no data is reported after two minutes', async () => {
    const t = setUp([list(10, [])], [{ stream: new ScriptedStream() }, 'never']);
    await t.clock.advance(89_000);
    expect(warnings(t)).toEqual([]);
    expect(t.informer.behindForMs()).toBe(0);
    await t.clock.advance(30_000);
    expect(t.informer.behindForMs()).toBe(119_000);
    expect(warnings(t)).toEqual(['Watch received no data for too long; opening the watch again']);
    await t.clock.advance(2_000);
    expect(warnings(t)).toEqual([
      'Watch received no data for too long; opening the watch again',
      'list and watch of nodes failed; retrying until success',
    ]);
    await t.end();
  });

  test.each([5, -5])(
    'a watch without data is opened again on time, although the time of day jumps by %i hours',
    async (hours) => {
      const stream = new ScriptedStream();
      const answers = [list(10, []), list(20, [])];
      const t = setUp(answers, [{ stream }, { stream: new ScriptedStream() }], { dataTimeoutMs: 90_000 });
      await t.clock.advance(60_000);
      stream.event('BOOKMARK', { metadata: { resourceVersion: '20' } });
      await t.clock.advance(1_000);
      t.clock.jump(hours * 3_600_000);
      await t.clock.advance(88_000);
      expect(warnings(t)).toEqual([]);
      await t.clock.advance(90_000);
      expect(warnings(t)).toEqual(['Watch received no data for too long; opening the watch again']);
      expect(parameter(t.transport.requests.at(-1), 'resourceVersion')).toBe('20');
      await t.end();
    },
  );

  test('bookmarks keep a watch open', async () => {
    const stream = new ScriptedStream();
    const t = setUp([list(10, [])], [{ stream }], { dataTimeoutMs: 90_000 });
    for (let minute = 1; minute <= 10; minute++) {
      await t.clock.advance(60_000);
      stream.event('BOOKMARK', { metadata: { resourceVersion: String(10 + minute) } });
    }
    expect(t.transport.requests.filter(isWatch).length).toBe(1);
    await t.end();
  });

  test('during an outage attempts become less frequent and two lines are logged, and afterwards no change is lost', async () => {
    const first = new ScriptedStream();
    const gone: Answer = { fail: new Error('connect ECONNREFUSED') };
    const last = new ScriptedStream();
    let down = false;
    const answers: Answer[] = [{ stream: first }];
    const t = setUp([list(10, [node('a', 1)])], answers);
    await t.clock.advance(5000);
    answers.splice(0, 1, gone);
    down = true;
    first.fail(new Error('ECONNRESET'));
    await t.clock.advance(60_000);
    expect(down && t.informer.store.size).toBe(1);
    const attempts = t.transport.requests.filter(isWatch).length - 1;
    expect(attempts).toBeGreaterThan(5);
    expect(attempts).toBeLessThan(25);
    answers.splice(0, 1, { stream: last });
    await t.clock.advance(16_000);
    last.event('MODIFIED', node('a', 20));
    await t.clock.settle();
    expect(t.changes).toEqual(['added a@1', 'updated a@20']);
    expect(warnings(t).length).toBeLessThanOrEqual(2);
    expect(t.log.lines.filter((line) => line.level === 'info').map((line) => line.message)).toEqual([
      'list and watch of nodes succeeds again',
    ]);
    await t.end();
  });

  test('a server that closes every watch immediately gets few requests', async () => {
    const closed = new ScriptedStream();
    closed.end();
    const t = setUp([list(10, [])], [{ stream: closed }]);
    await t.clock.advance(60_000);
    expect(t.transport.requests.length).toBeLessThan(25);
    await t.end();
  });

  test('a refused list is retried until it works', async () => {
    const t = setUp(
      [status(403, 'Forbidden', 'no'), status(403, 'Forbidden', 'no'), list(10, [])],
      [{ stream: new ScriptedStream() }],
    );
    const refusals: (number | undefined)[] = [];
    t.informer.onRefused(() => refusals.push(t.informer.refused?.code));
    await t.clock.settle();
    expect([t.informer.synced, t.informer.refused?.code]).toEqual([false, 403]);
    await t.clock.advance(2000);
    expect([t.informer.synced, t.informer.refused]).toEqual([true, undefined]);
    expect(refusals).toEqual([403, undefined]);
    expect(warnings(t)).toEqual(['list and watch of nodes failed; retrying until success']);
    await t.end();
  });

  test('a missing kind counts as refused, but not because of permission', async () => {
    const access: (number | undefined)[] = [];
    const t = setUp([status(404, 'NotFound', 'no'), list(10, [])], [{ stream: new ScriptedStream() }], {
      onAccess: (refused) => access.push(refused?.code),
    });
    await t.clock.settle();
    expect([t.informer.refused?.code, access]).toEqual([404, []]);
    await t.clock.advance(2000);
    expect([t.informer.refused, access]).toEqual([undefined, [undefined]]);
    await t.end();
  });

  test('a refusal ends only when a watch is open, because a list alone is soon outdated', async () => {
    const t = setUp([list(10, [])], [status(403, 'Forbidden', 'no')]);
    await t.clock.advance(2000);
    expect([t.informer.synced, t.informer.refused?.code]).toEqual([true, 403]);
    await t.end();
  });
});

describe('stored objects', () => {
  test('stored objects are projected and have no managed fields, also after writes of this process', async () => {
    const t = setUp(
      [list(10, [{ ...node('a', 1), metadata: { ...node('a', 1).metadata, managedFields: [{}] } }])],
      ['never'],
      {
        project: ({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata, spec: { providerID: 'kept' } }),
      },
    );
    await t.clock.settle();
    expect(t.informer.store.get('a')?.metadata).not.toHaveProperty('managedFields');
    t.informer.recordWrite({ ...node('a', 12), spec: { providerID: 'dropped' } });
    expect(t.informer.store.get('a')?.spec).toEqual({ providerID: 'kept' });
    await t.end();
  });

  test('stored objects throw when they are changed, if objects are frozen', async () => {
    const t = setUp([list(10, [node('a', 1)])], ['never']);
    await t.clock.settle();
    const shared = t.informer.store.get('a');
    expect(() => {
      if (shared !== undefined) shared.metadata.labels = {};
    }).toThrow(TypeError);
    await t.end();
  });

  test('handlers get existing objects, and a handler that throws does not affect the others', async () => {
    const t = setUp([list(10, [node('a', 1)])], ['never']);
    await t.clock.settle();
    const heard: string[] = [];
    t.informer.onChange(() => {
      throw new Error('handler');
    });
    const stop = t.informer.onChange((change) => heard.push(change.key));
    t.informer.recordWrite(node('b', 11));
    stop();
    t.informer.recordWrite(node('c', 12));
    expect(heard).toEqual(['a', 'b']);
    expect(t.log.lines.filter((line) => line.level === 'error').length).toBe(3);
    await t.end();
  });
});

test('whenSynced rejects when its signal aborts', async () => {
  const t = setUp(['never'], ['never']);
  const stop = new AbortController();
  const waiting = t.informer.whenSynced(stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await t.end();
});
