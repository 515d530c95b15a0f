import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../plane.ts';
import { copyWithEmpties, emptiesOf, forgetEmpty, given, noteEmpty } from './empties.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
});
afterAll(() => plane.close());

type Json = Record<string, unknown>;

async function send(method: string, path: string, body: Json): Promise<{ code: number; body: Json }> {
  const headers = { 'content-type': 'application/json' };
  const answer = await plane.fetch(
    new Request(`https://plane${path}`, { method, headers, body: JSON.stringify(body) }),
  );
  return { code: answer.status, body: (await answer.json()) as Json };
}

const messages = (body: Json): string[] =>
  ((body.details ?? {}) as { causes?: { message: string }[] }).causes?.map(({ message }) => message) ?? [];

test('the record of an empty field is not in the JSON, is copied with the object, and can be removed', () => {
  const record: Json = { a: 1 };
  expect(given(record, 'list')).toBe(null);
  noteEmpty(record, 'list', []);
  noteEmpty(record, 'map', {});
  expect(JSON.stringify(record)).toBe('{"a":1}');
  expect(Object.keys(record)).toEqual(['a']);
  const [copy] = copyWithEmpties([{ inner: record }]) as [{ inner: Json }];
  expect(given(copy.inner, 'list')).toEqual([]);
  forgetEmpty(copy.inner, 'list');
  expect(given(copy.inner, 'list')).toBe(null);
  expect(emptiesOf(record)).toEqual({ list: [], map: {} });
  record.list = ['x'];
  expect(given(record, 'list')).toEqual(['x']);
});

const set = (labels: unknown): Json => ({
  metadata: { name: 'set' },
  spec: {
    selector: { matchLabels: { app: 'x' } },
    template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
});

test.each([
  ['{}', {}],
  ['null', undefined],
])('labels that were given as %s are printed unchanged', async (shown, labels) => {
  const { code, body } = await send('POST', '/apis/apps/v1/namespaces/default/replicasets', set(labels));
  expect(code).toBe(422);
  expect(messages(body)[0]).toBe(`Invalid value: ${shown}: \`selector\` does not match template \`labels\``);
});

test.each([
  ['{}', {}],
  ['null', undefined],
])('a capacity that was given as %s is printed unchanged', async (shown, capacity) => {
  const spec = { capacity, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } };
  const { body } = await send('POST', '/api/v1/persistentvolumes', { metadata: { name: 'pv' }, spec });
  expect(messages(body)).toContain(`Unsupported value: ${shown}: supported values: "storage"`);
});

test('the diff of a claim shows an empty list as in the request, and the stored object has none', async () => {
  const path = '/api/v1/namespaces/default/persistentvolumeclaims';
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' }, limits: {} } };
  const made = await send('POST', path, { metadata: { name: 'c' }, spec });
  expect(made.code).toBe(201);
  expect((made.body.spec as { resources: Json }).resources).toEqual({ requests: { storage: '1Gi' } });
  const changed = { ...spec, accessModes: [] };
  const { code, body } = await send('PUT', `${path}/c`, { metadata: { name: 'c' }, spec: changed });
  expect(code).toBe(422);
  expect(String(body.message)).toContain('+ "AccessModes": [],');
  const without = { resources: spec.resources };
  const refused = await send('PUT', `${path}/c`, { metadata: { name: 'c' }, spec: without });
  expect(String(refused.body.message)).toContain('+ "AccessModes": null,');
});

test('an autoscaler with an empty list of policies is refused, and one without a list gets the defaults', async () => {
  const path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
  const scaler = (scaleUp: Json): Json => ({
    metadata: { name: 'h' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      maxReplicas: 3,
      behavior: { scaleUp },
    },
  });
  const refused = await send('POST', path, scaler({ policies: [] }));
  expect(refused.code).toBe(422);
  expect(messages(refused.body)).toEqual(['Required value: must specify at least one Policy']);
  expect((await send('POST', path, scaler({}))).code).toBe(201);
});
