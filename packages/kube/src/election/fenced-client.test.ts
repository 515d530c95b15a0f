import { expect, test } from 'vitest';
import type { KubeClient, RequestOptions } from '../contract/client.ts';
import { configMaps } from '../types/core.ts';
import { fencedClient } from './fenced-client.ts';

function recording() {
  const calls: (readonly unknown[])[] = [];
  const record =
    (verb: string) =>
    (...given: unknown[]) => {
      calls.push([verb, ...given]);
      return Promise.resolve();
    };
  const verbs = [
    'get',
    'list',
    'watch',
    'create',
    'update',
    'patch',
    'delete',
    'deleteCollection',
    'createSubresource',
  ];
  const resource = Object.fromEntries(verbs.map((verb) => [verb, record(verb)]));
  const real = { history: {}, request: record('request'), resource: () => resource } as unknown as KubeClient;
  const closed = () => Promise.reject(new Error('the lease was lost'));
  const client = fencedClient(real, { confirm: closed, held: closed });
  return { calls, real, client, maps: client.resource(configMaps, 'default') };
}
type Recorded = ReturnType<typeof recording>;

const options = { signal: new AbortController().signal };
const object = { metadata: { name: 'one' } } as never;
const patch = { type: 'merge', body: {} } as const;

test.each<[what: string, call: (r: Recorded) => unknown, given: unknown[]]>([
  ['create configmaps', ({ maps }) => maps.create(object, options), ['create', object]],
  ['update configmaps one', ({ maps }) => maps.update(object, options), ['update', object]],
  ['patch configmaps one', ({ maps }) => maps.patch('one', patch, options), ['patch', 'one', patch]],
  ['delete configmaps one', ({ maps }) => maps.delete('one', options), ['delete', 'one']],
  ['delete configmaps', ({ maps }) => maps.deleteCollection(options), ['deleteCollection']],
  [
    'create eviction of configmaps one',
    ({ maps }) => maps.createSubresource('one', 'eviction', object, options),
    ['createSubresource', 'one', 'eviction', object],
  ],
  ['PUT /api/v1/x', ({ client }) => client.request('PUT', '/api/v1/x', options), ['request', 'PUT', '/api/v1/x']],
])('%s keeps its options and is not sent with a closed fence', async (what, call, given) => {
  const r = recording();
  await call(r);
  const [sent = []] = r.calls;
  const last = sent.at(-1) as RequestOptions;
  expect(sent.slice(0, -1)).toEqual(given);
  expect(last.signal).toBe(options.signal);
  await expect(last.beforeSend?.()).rejects.toMatchObject({
    name: 'KubeError',
    code: 0,
    reason: 'NotLeading',
    message: `${what} was not sent: could not confirm that this process is the leader (the lease was lost)`,
    cause: new Error('the lease was lost'),
  });
});

test.each<[call: (r: Recorded) => unknown, given: unknown[]]>([
  [({ maps }) => maps.get('one', options), ['get', 'one', options]],
  [({ maps }) => maps.list(options), ['list', options]],
  [({ maps }) => maps.watch({ ...options, resourceVersion: '1' }), ['watch', { ...options, resourceVersion: '1' }]],
  [({ client }) => client.request('GET', '/api/v1/x', options), ['request', 'GET', '/api/v1/x', options]],
])('a read is sent unchanged: %#', async (call, given) => {
  const r = recording();
  await call(r);
  expect(r.calls).toEqual([given]);
  expect(r.client.history).toBe(r.real.history);
});
