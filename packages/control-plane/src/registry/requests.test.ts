import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../testing.ts';

const NS = '/api/v1/namespaces/default';
const MAPS = `${NS}/configmaps`;
const APPLY = { 'content-type': 'application/apply-patch+yaml' };

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeEach(async () => {
  setup = await startTestPlane({ controllers: false });
  for (const name of ['a', 'b', 'c']) await setup.client.send('POST', MAPS, { metadata: { name } });
});
afterEach(() => setup.plane.close());

const names = (body: object) =>
  ((body as { items?: { metadata: { name: string } }[] }).items ?? []).map(({ metadata }) => metadata.name);
const left = async () => names((await setup.client.send('GET', MAPS)).body);

test('a deletion of a collection deletes one page of its limit, and returns the list', async () => {
  const first = await setup.client.send('DELETE', `${MAPS}?limit=1&propagationPolicy=Orphan`);
  expect([first.status, names(first.body)]).toEqual([200, ['a']]);
  expect(first.body.metadata).toMatchObject({ continue: expect.stringMatching(/./), remainingItemCount: 2 });
  expect(JSON.stringify(first.body)).not.toContain('deletionTimestamp');
  expect(await left()).toEqual(['a', 'b', 'c']);
  await setup.client.send('DELETE', `${MAPS}?limit=2`);
  expect(await left()).toEqual(['a', 'c']);
});

test('the version in the deletion of a collection is the version of the deleted objects', async () => {
  const { metadata } = (await setup.client.send('GET', MAPS)).body;
  await setup.client.send('POST', MAPS, { metadata: { name: 'd' } });
  const path = `${MAPS}?resourceVersion=${metadata.resourceVersion}`;
  // The resourceVersion in the query is a precondition for each deletion, even without a body.
  expect((await setup.client.send('DELETE', path)).body.message).toContain(
    'does not match the ResourceVersion in record',
  );
  expect(await left()).toEqual(['a', 'b', 'c', 'd']);
  expect(names((await setup.client.send('DELETE', path, {})).body)).toEqual(['a', 'b', 'c']);
  expect(await left()).toEqual(['d']);
});

test.each([
  ['resourceVersion=1', 'the ResourceVersion in the precondition (1) does not match'],
  ['uid=other', 'the UID in the precondition (other) does not match'],
])('a delete without a body has its preconditions in the query: %s', async (query, words) => {
  const answer = await setup.client.send('DELETE', `${MAPS}/a?${query}`);
  expect([answer.status, answer.body.message]).toEqual([409, expect.stringContaining(words)]);
  expect(await left()).toEqual(['a', 'b', 'c']);
});

test('delete options of another kind are refused', async () => {
  const { body } = await setup.client.send('DELETE', `${MAPS}/a`, { kind: 'Foo' });
  expect(body.message).toContain('no kind "Foo" is registered for version "meta.k8s.io/v1" in scheme');
});

test.each([
  ['a\nb', ['invalid character U+000A (at position 1)']],
  ['é\u0001\u0002', ['invalid character U+0001 (at position 2)', 'invalid character U+0002 (at position 3)']],
])('each unprintable character of a manager is in the error: %j', async (manager, expected) => {
  const path = `${MAPS}?fieldManager=${encodeURIComponent(manager)}`;
  const { status, body } = await setup.client.send('POST', path, { metadata: { name: 'z' } });
  const causes = (body as { details?: { causes?: { message: string }[] } }).details?.causes ?? [];
  expect(status).toBe(422);
  expect(causes.map(({ message }) => message.replace(/^Invalid value: ".*": /, ''))).toEqual(expected);
});

test('the length of a manager is counted in bytes', async () => {
  const path = `${MAPS}?fieldManager=${encodeURIComponent('é'.repeat(65))}`;
  expect((await setup.client.send('POST', path, { metadata: { name: 'z' } })).body.message).toContain('128 bytes');
});

test('names of events must fit into a path; in the new API they must be subdomains', async () => {
  const event = { metadata: { name: 'A_b' }, involvedObject: { namespace: 'default' } };
  expect((await setup.client.send('POST', `${NS}/events`, event)).status).toBe(201);
  const newer = {
    metadata: { name: 'A_c' },
    regarding: { namespace: 'default' },
    eventTime: '2020-01-01T00:00:00.000000Z',
    reportingController: 'a',
    reportingInstance: 'b',
    action: 'c',
    reason: 'd',
    type: 'Normal',
  };
  const path = '/apis/events.k8s.io/v1/namespaces/default/events';
  const { status, body } = await setup.client.send('POST', path, newer);
  expect([status, body.message]).toEqual([422, expect.stringContaining('a lowercase RFC 1123 subdomain must')]);
});

test('an applied status creates a service with its other fields', async () => {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's', labels: { a: 'b' } },
    spec: { ports: [{ port: 80 }] },
    status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
  };
  const path = `${NS}/services/s/status?fieldManager=m`;
  const { status, body } = await setup.client.send('PATCH', path, service, APPLY);
  expect(status).toBe(201);
  expect(body).toMatchObject({
    metadata: { labels: { a: 'b' } },
    spec: { ports: [{ port: 80, protocol: 'TCP' }] },
    status: { loadBalancer: {} },
  });
});

test('a watch for the state of an unreachable version gets an error event; other watches start there', async () => {
  const path = `${MAPS}?watch=1&resourceVersion=99999`;
  const opening = setup.client.watch(`${path}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
  await setup.clock.advance(3_000);
  const { events } = await opening;
  await setup.clock.advance(0);
  expect(events).toMatchObject([{ type: 'ERROR', object: { code: 504, reason: 'Timeout' } }]);
  const plain = await setup.client.watch(path);
  expect(plain.events).toEqual([]);
});

test('errors contain the types of the version of an autoscaler', async () => {
  const path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
  const { body } = await setup.client.send('POST', path, { metadata: { name: 'h' }, spec: 'x' });
  expect(body.message).toContain('of type v2.HorizontalPodAutoscalerSpec');
});

const unreadable = (why: string) =>
  expect.stringMatching(
    `^the object provided is unrecognized \\(must be of type ConfigMap\\): yaml: ${why} \\([0-9a-f]+\\)$`,
  );

test.each([
  ['a: {b: 1', "line 1: did not find expected ',' or '}'"],
  ['a: [1', "line 1: did not find expected ',' or ']'"],
  ['a: [1,', 'line 1: did not find expected node content'],
  ['a: b: c', 'mapping values are not allowed in this context'],
  ['"abc', 'found unexpected end of stream'],
  ['a: *x', "unknown anchor 'x' referenced"],
  ['\ta: 1', 'found character that cannot start any token'],
  ['a:\n  - b\n c: d', 'line 2: did not find expected key'],
])('invalid YAML is refused with the text of the real server: %j', async (text, why) => {
  const { status, body } = await setup.client.send('POST', MAPS, text, { 'content-type': 'application/yaml' });
  expect([status, body.message]).toEqual([400, unreadable(why)]);
});

test('the first YAML document and the last value of a key count', async () => {
  const text = 'metadata: {name: first}\nmetadata: {name: last}\n---\nmetadata: {name: next}\n';
  const { body } = await setup.client.send('POST', MAPS, text, { 'content-type': 'application/yaml' });
  expect(body.metadata.name).toBe('last');
});

test('the error for invalid JSON contains its first byte', async () => {
  const data = { '.dockerconfigjson': Buffer.from([0xc7, 0x1c]).toString('base64') };
  const secret = { metadata: { name: 's' }, type: 'kubernetes.io/dockerconfigjson', data };
  const { body } = await setup.client.send('POST', `${NS}/secrets`, secret);
  expect(body.message).toContain("invalid character 'Ç' looking for beginning of value");
});

test('a driver may give a node an ID of 256 characters', async () => {
  const node = (nodeID: string) => ({ metadata: { name: 'n' }, spec: { drivers: [{ name: 'd.dev', nodeID }] } });
  const path = '/apis/storage.k8s.io/v1/csinodes';
  const refused = await setup.client.send('POST', path, node('x'.repeat(257)));
  expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining('must be 256 characters')]);
  expect((await setup.client.send('POST', path, node('x'.repeat(256)))).status).toBe(201);
});

test('a condition of flow control without a time has a null time', async () => {
  const path = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt/status';
  const body = { status: { conditions: [{ type: 'Dangling', status: 'False' }] } };
  const made = await setup.client.send('PATCH', path, body, { 'content-type': 'application/merge-patch+json' });
  expect(made.body.status).toEqual({ conditions: [{ type: 'Dangling', status: 'False', lastTransitionTime: null }] });
});

test('an apply of a new object returns its name', async () => {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', data: {} };
  const made = await setup.client.send('PATCH', `${MAPS}/new?fieldManager=m`, body, APPLY);
  expect([made.status, made.body.message]).toEqual([
    400,
    'the name of the object (new based on URL) was undeterminable: name must be provided',
  ]);
});

test('an invalid timeout is refused, except in a watch', async () => {
  expect((await setup.client.send('GET', `${MAPS}?timeout=zap`)).body.message).toBe(
    'invalid timeout specified in the request URL - time: invalid duration "zap"',
  );
  expect((await setup.client.send('GET', `${MAPS}?timeout=5s`)).status).toBe(200);
});
