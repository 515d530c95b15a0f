import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { Patch, WatchEvent } from '../contract/client.ts';
import { isConflict, isGone, KubeError } from '../contract/errors.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';
import type { TransportRequest } from '../contract/transport.ts';
import { type Answer, ScriptedStream, scriptedTransport, status } from '../testing/scripted-server.ts';
import { nodes, pods, secrets } from '../types/core.ts';
import { createClient, userAgent } from './create-client.ts';

const machines: ResourceDefinition<KubeObject> = {
  group: 'machine.sapcloud.io',
  version: 'v1alpha1',
  plural: 'machines',
  kind: 'Machine',
  namespaced: true,
};

function setUp(script: (request: TransportRequest, index: number) => Answer = () => ({ json: {} })) {
  const clock = new VirtualClock();
  const transport = scriptedTransport(script);
  return { clock, transport, client: createClient({ transport, userAgent: userAgent('b', '1.2', 'c'), clock }) };
}

const failure = async (work: Promise<unknown>): Promise<KubeError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof KubeError) return error;
  throw new Error(`expected a KubeError, got ${String(error)}`);
};

describe('requests contain binary, version and component', () => {
  test.each([
    [
      'get',
      'GET /apis/machine.sapcloud.io/v1alpha1/namespaces/ns/machines/m',
      (c) => c.resource(machines, 'ns').get('m'),
    ],
    ['get of the core group', 'GET /api/v1/nodes/n', (c) => c.resource(nodes).get('n')],
    ['a name that needs escaping', 'GET /api/v1/nodes/a%3Fb%25', (c) => c.resource(nodes).get('a?b%')],
    [
      'list everywhere',
      'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=5',
      (c) => c.resource(pods).list({ limit: 5, fieldSelector: 'spec.nodeName=n' }),
    ],
    ['a cluster-scoped kind ignores the namespace', 'GET /api/v1/nodes', (c) => c.resource(nodes, 'ns').list()],
    [
      "create in the object's namespace",
      'POST /api/v1/namespaces/own/pods',
      (c) => c.resource(pods).create({ metadata: { name: 'p', namespace: 'own' }, spec: {} }),
    ],
    [
      'update of a subresource',
      'PUT /api/v1/nodes/n/status',
      (c) =>
        c.resource(nodes).update(
          {
            apiVersion: 'v1',
            kind: 'Node',
            metadata: { name: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
            spec: {},
          },
          { subresource: 'status' },
        ),
    ],
    ['delete', 'DELETE /api/v1/nodes/n', (c) => c.resource(nodes).delete('n')],
    [
      'eviction',
      'POST /api/v1/namespaces/ns/pods/p/eviction',
      (c) => c.resource(pods, 'ns').createSubresource('p', 'eviction', {}),
    ],
    [
      'delete a collection',
      'DELETE /api/v1/namespaces/ns/pods?labelSelector=a%3Db',
      (c) => c.resource(pods, 'ns').deleteCollection({ labelSelector: 'a=b' }),
    ],
  ] as [string, string, (client: ReturnType<typeof createClient>) => Promise<unknown>][])(
    '%s',
    async (_title, expected, call) => {
      const { client, transport } = setUp(() => ({ json: { metadata: {}, items: [] } }));
      await call(client);
      expect(transport.requests.map((r) => `${r.method} ${r.path}`)).toEqual([expected]);
      expect(transport.requests[0]?.headers['user-agent']).toBe('b/1.2 (c)');
    },
  );

  test.each([
    ['merge', { type: 'merge', body: { a: 1 } }, 'application/merge-patch+json', ''],
    ['json', { type: 'json', body: [{ op: 'test' }] }, 'application/json-patch+json', ''],
    ['strategic', { type: 'strategic', body: {} }, 'application/strategic-merge-patch+json', ''],
    [
      'apply',
      { type: 'apply', body: {}, fieldManager: 'me', force: true },
      'application/apply-patch+yaml',
      '?fieldManager=me&force=true',
    ],
  ] as [string, Patch, string, string][])(
    'a patch of type %s has its content type and parameters',
    async (_title, patch, contentType, search) => {
      const { client, transport } = setUp();
      await client.resource(nodes).patch('n', patch);
      expect(transport.requests[0]).toMatchObject({
        method: 'PATCH',
        path: `/api/v1/nodes/n${search}`,
        body: JSON.stringify(patch.body),
      });
      expect(transport.requests[0]?.headers['content-type']).toBe(contentType);
    },
  );

  test.each(['', '.', '..', 'a/b'])('the name %j is refused before a request is sent', async (name) => {
    const { client, transport } = setUp();
    expect((await failure(client.resource(nodes).delete(name))).code).toBe(400);
    expect(transport.requests).toEqual([]);
  });

  test('one object of a namespaced kind needs a namespace', async () => {
    const { client } = setUp();
    expect((await failure(client.resource(pods).get('p'))).message).toContain('set the namespace');
  });

  test('items of a list get the type that the API server leaves out', async () => {
    const { client } = setUp(() => ({
      json: { metadata: { resourceVersion: '1' }, items: [{ metadata: { name: 'm' } }] },
    }));
    const list = await client.resource(machines, 'ns').list();
    expect(list.items[0]).toMatchObject({ apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'Machine' });
  });

  test('a deletion distinguishes objects with finalizers from deleted objects', async () => {
    const lingering = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', deletionTimestamp: 'now' } };
    expect(
      await setUp(() => ({ json: lingering }))
        .client.resource(nodes)
        .delete('n'),
    ).toEqual(lingering);
    expect(
      await setUp(() => ({ json: { kind: 'Status' } }))
        .client.resource(nodes)
        .delete('n'),
    ).toBeUndefined();
  });
});

describe('failures', () => {
  test('a Status becomes a KubeError', async () => {
    const { client } = setUp(() => status(409, 'Conflict', 'the object has been modified', { details: { name: 'n' } }));
    const error = await failure(client.resource(nodes).get('n'));
    expect(isConflict(error)).toBe(true);
    expect(error).toMatchObject({ code: 409, reason: 'Conflict', status: { details: { name: 'n' } } });
    expect(error.message).toBe('GET /api/v1/nodes/n: the object has been modified');
  });

  test('a missing answer is code 0 with its cause', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const error = await failure(
      setUp(() => ({ fail: cause }))
        .client.resource(nodes)
        .get('n'),
    );
    expect(error).toMatchObject({ code: 0, reason: 'NoAnswer', cause });
    expect(error.message).toContain('ECONNREFUSED');
  });

  test('the error does not quote the page of a proxy', async () => {
    const error = await failure(
      setUp(() => ({ status: 502, text: '<html>secret</html>' }))
        .client.resource(nodes)
        .get('n'),
    );
    expect(error.message).toBe('GET /api/v1/nodes/n: HTTP 502');
  });

  test('the error for an answer that is not JSON does not quote it, because it may be a Secret', async () => {
    const { client } = setUp(() => ({ text: '{"data":{"password":"aHVudGVyMg=="' }));
    const error = await failure(client.resource(secrets, 'ns').get('s'));
    expect(error.reason).toBe('BadAnswer');
    expect(`${error.stack}${JSON.stringify(error)}${String(error.cause)}`).not.toContain('aHVudGVyMg');
  });

  test('an aborted call throws the reason of its signal, not a KubeError', async () => {
    const { client } = setUp(() => 'never');
    const stop = new AbortController();
    const call = client.resource(nodes).get('n', { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });

  test('a request to a server that does not answer ends after the time limit', async () => {
    const { client, clock } = setUp(() => 'never');
    const call = failure(client.resource(nodes).get('n'));
    await clock.advance(60_000);
    expect(await call).toMatchObject({ code: 0, reason: 'NoAnswer' });
    expect(clock.pending).toBe(0);
  });
});

describe('Retry-After', () => {
  const busy = (code: number, seconds: string): Answer => ({
    ...(status(code, 'TooManyRequests', 'busy') as object),
    headers: { 'retry-after': seconds },
  });

  test.each([429, 503])('%i is sent again after the time that the server names', async (code) => {
    const { client, clock, transport } = setUp((_request, index) =>
      index < 2 ? busy(code, '3') : { json: { kind: 'Node' } },
    );
    const call = client.resource(nodes).patch('n', { type: 'merge', body: { x: 1 } });
    await clock.advance(2999);
    expect(transport.requests.length).toBe(1);
    await clock.advance(4000);
    expect(await call).toMatchObject({ kind: 'Node' });
    expect(transport.requests.map((r) => r.body)).toEqual(['{"x":1}', '{"x":1}', '{"x":1}']);
  });

  test('a date in Retry-After is parsed', async () => {
    const { client, clock, transport } = setUp((_r, index) =>
      index === 0 ? busy(429, 'Thu, 01 Jan 2026 00:00:10 GMT') : { json: {} },
    );
    const call = client.resource(nodes).get('n');
    await clock.advance(9999);
    expect(transport.requests.length).toBe(1);
    await clock.advance(1100);
    await call;
  });

  test.each([
    ['429 without it', () => status(429, 'TooManyRequests', 'would violate the budget')],
    ['503 without it', () => status(503, 'ServiceUnavailable', 'no')],
    ['500 with it', () => busy(500, '1')],
  ])('%s is thrown immediately', async (_title, answer) => {
    const { client, transport } = setUp(answer);
    await failure(client.resource(nodes).get('n'));
    expect(transport.requests.length).toBe(1);
  });

  test('an eviction is thrown with the time to wait', async () => {
    const { client } = setUp(() => status(429, 'TooManyRequests', 'busy', { details: { retryAfterSeconds: 10 } }));
    const error = await failure(client.resource(pods, 'ns').createSubresource('p', 'eviction', {}));
    expect(error.retryAfterMs).toBe(10_000);
  });

  test('the wait ends when the signal aborts, and after ten attempts', async () => {
    const { client, clock, transport } = setUp(() => busy(429, '1'));
    const stop = new AbortController();
    const call = client.resource(nodes).get('n', { signal: stop.signal });
    await clock.settle();
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    const other = failure(client.resource(nodes).get('n'));
    await clock.advance(60_000);
    expect((await other).code).toBe(429);
    expect(transport.requests.length).toBe(1 + 11);
  });
});

describe('watch', () => {
  async function read(
    client: ReturnType<typeof createClient>,
    seen: WatchEvent<KubeObject>[],
    signal?: AbortSignal,
  ): Promise<void> {
    for await (const event of client.resource(nodes).watch(signal === undefined ? {} : { signal })) seen.push(event);
  }

  test('yields events as they arrive and ends with the stream', async () => {
    const stream = new ScriptedStream();
    const { client, clock } = setUp(() => ({ stream }));
    const seen: WatchEvent<KubeObject>[] = [];
    const reading = read(client, seen);
    stream.send('{"type":"ADDED","obj');
    await clock.settle();
    expect(seen).toEqual([]);
    stream.send('ect":{"kind":"Node"}}\n{"type":"BOOKMARK","object":{}}\n{"type":"half');
    await clock.settle();
    expect(seen.map((event) => event.type)).toEqual(['ADDED', 'BOOKMARK']);
    stream.end();
    await reading;
    expect(clock.pending).toBe(0);
  });

  test('an ERROR event is thrown with its code', async () => {
    const stream = new ScriptedStream();
    const { client } = setUp(() => ({ stream }));
    const reading = failure(read(client, []));
    stream.event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
    expect(isGone(await reading)).toBe(true);
    expect(stream.closed).toBe(true);
  });

  test('a broken connection is a KubeError, an abort throws its reason', async () => {
    const broken = new ScriptedStream();
    const reading = failure(read(setUp(() => ({ stream: broken })).client, []));
    broken.fail(new Error('ECONNRESET'));
    expect((await reading).code).toBe(0);

    const stream = new ScriptedStream();
    const stop = new AbortController();
    const t = setUp(() => ({ stream }));
    const other = read(t.client, [], stop.signal);
    await t.clock.settle();
    stop.abort(new Error('enough'));
    await expect(other).rejects.toThrow('enough');
    expect(stream.closed).toBe(true);
  });

  test('the time limit applies only until the watch is open', async () => {
    const stream = new ScriptedStream();
    const { client, clock } = setUp(() => ({ stream }));
    const seen: WatchEvent<KubeObject>[] = [];
    const reading = read(client, seen);
    await clock.advance(3_600_000);
    stream.event('ADDED', {});
    stream.end();
    await reading;
    expect(seen.length).toBe(1);
  });
});
