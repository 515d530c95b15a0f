import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../testing.ts';

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const HOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const POLICIES = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies';
const THINGS = '/apis/g.dev/v1/namespaces/default/things';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeEach(async () => {
  setup = await startTestPlane({ controllers: false });
});
afterEach(() => setup.plane.close());

const send = async (method: string, path: string, body: object, headers: Record<string, string> = {}) =>
  (await setup.client.send(method, path, body, headers)).body;

const owners = (body: { metadata: { managedFields?: readonly { manager?: string; fieldsV1?: object }[] } }) =>
  (body.metadata.managedFields ?? []).map(({ manager, fieldsV1 }) => [manager, fieldsV1]);

test('a client that sends an empty list manages it, also if the server writes null', async () => {
  const made = await send('POST', `${ROLES}?fieldManager=a`, { metadata: { name: 'r' }, rules: [] });
  expect(made['rules']).toBeNull();
  expect(owners(made)).toEqual([['a', { 'f:rules': {} }]]);
  const labelled = await send('PATCH', `${ROLES}/r?fieldManager=b`, { metadata: { labels: { x: 'y' } } }, MERGE);
  expect(owners(labelled)).toEqual([
    ['a', { 'f:rules': {} }],
    ['b', { 'f:metadata': { 'f:labels': { '.': {}, 'f:x': {} } } }],
  ]);
  expect(owners(await send('POST', `${ROLES}?fieldManager=a`, { metadata: { name: 's' } }))).toEqual([]);
});

test('an empty list changes the generation of webhooks and network policies only', async () => {
  const hook = { metadata: { name: 'h' }, webhooks: [] };
  const made = await send('POST', HOOKS, hook);
  expect(made.metadata.generation).toBe(1);
  const { resourceVersion } = made.metadata;
  const put = await send('PUT', `${HOOKS}/h`, { ...hook, metadata: { name: 'h', resourceVersion } });
  expect(put.metadata.generation).toBe(2);
  expect((await send('PATCH', `${HOOKS}/h`, { metadata: { labels: { a: 'b' } } }, MERGE)).metadata.generation).toBe(2);
  const policy = (spec: object) => ({ metadata: { name: 'n' }, spec });
  await send('POST', POLICIES, policy({ podSelector: {} }));
  const emptied = await send('PUT', `${POLICIES}/n`, policy({ podSelector: { matchLabels: {} } }));
  expect(emptied.metadata.generation).toBe(2);
  expect((await send('PUT', `${POLICIES}/n`, policy({ podSelector: {} }))).metadata.generation).toBe(2);
  // The default value replaces the empty list.
  const types = await send('PUT', `${POLICIES}/n`, policy({ podSelector: {}, policyTypes: [] }));
  expect(types.metadata.generation).toBe(2);
});

async function install(): Promise<void> {
  const fields = {
    o: { type: 'object', properties: { a: { type: 'string' } } },
    l: { type: 'array', items: { type: 'string' } },
    d: { type: 'string', default: 'x' },
    n: { type: 'string', nullable: true },
  };
  const status = { type: 'object', properties: { n: { type: 'integer' } } };
  const properties = { spec: { type: 'object', properties: fields }, status };
  const schema = { openAPIV3Schema: { type: 'object', properties } };
  const versions = [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }];
  const spec = { group: 'g.dev', scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions };
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await send('POST', crds, { metadata: { name: 'things.g.dev' }, spec });
  await setup.client.send('GET', THINGS);
}

const apply = (body: object, sub = '') =>
  setup.client.send(
    'PATCH',
    `${THINGS}/x${sub}?fieldManager=m`,
    { apiVersion: 'g.dev/v1', kind: 'Thing', metadata: { name: 'x' }, ...body },
    APPLY,
  );

test('nulls in an apply of a custom object are validated; in any other body they are removed', async () => {
  await install();
  const refused = await apply({ spec: { o: null } });
  expect([refused.status, refused.body.message]).toEqual([
    422,
    'Thing.g.dev "x" is invalid: spec.o: Invalid value: "null": spec.o in body must be of type object: "null"',
  ]);
  expect((await apply({ spec: { d: null, n: null } })).body['spec']).toEqual({ d: 'x', n: null });
  const thing = { apiVersion: 'g.dev/v1', kind: 'Thing', metadata: { name: 'y' }, spec: { o: null, l: null } };
  expect((await send('POST', THINGS, thing))['spec']).toEqual({ d: 'x' });
});

test('a map whose last field its applier removes becomes null and is refused; other managers change nothing', async () => {
  await install();
  expect((await apply({ spec: { o: { a: 'b' } } })).status).toBe(201);
  expect((await apply({ status: { n: 2 } }, '/status')).status).toBe(200);
  const message = 'Thing.g.dev "x" is invalid: status: Invalid value: "null":  in body must be of type object: "null"';
  expect((await apply({ status: null }, '/status')).body.message).toBe(message);
  expect((await apply({ spec: { o: null } })).status).toBe(422);
  const other = await setup.client.send(
    'PATCH',
    `${THINGS}/x?fieldManager=other`,
    { apiVersion: 'g.dev/v1', kind: 'Thing', metadata: { name: 'x' }, spec: null },
    APPLY,
  );
  expect([other.status, other.body['spec'], other.body.status]).toEqual([200, { d: 'x', o: { a: 'b' } }, { n: 2 }]);
});

test('a custom kind cannot be converted to a built-in one', async () => {
  await install();
  const thing = { apiVersion: 'g.dev/v1', kind: 'Thing', metadata: { name: 'x' } };
  expect((await setup.client.send('POST', '/api/v1/namespaces/default/configmaps', thing)).body.message).toBe(
    'Thing in version "v1" cannot be handled as a ConfigMap: no kind "Thing" is registered for version "g.dev/v1" in scheme "pkg/runtime/scheme.go:111"',
  );
});
