import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { StillClock, settle, startTestPlane, thingCrd } from '../../testing.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Start {
  readonly crds: readonly object[];
  readonly random?: number;
  readonly hours?: number;
  readonly thing?: object;
}

/** Starts a control plane. */
async function boot({ crds, random = 0, hours = 0, thing = {} }: Start) {
  const clock = new StillClock();
  await clock.advance(hours * 3_600_000);
  const { client, plane } = await startTestPlane({ crds, clock, random: () => random });
  const watch = await client.watch(`${CRDS}?watch=true&resourceVersion=1`);
  const { status } = await client.send('POST', '/apis/x.dev/v1/namespaces/default/things', {
    apiVersion: 'x.dev/v1',
    kind: 'Thing',
    metadata: { name: 'one' },
    ...thing,
  });
  await settle();
  watch.close();
  const { revision, objects } = plane.snapshot();
  await plane.close();
  const texts = objects.map(({ resource, record }) => `${resource} ${record.revision} ${record.json}`);
  return { revision, texts, events: watch.events, status };
}

const withSize = (maximum: number) =>
  thingCrd({
    type: 'object',
    properties: { size: { type: 'integer', maximum, 'x-kubernetes-validations': [{ rule: 'self > 1' }] } },
  });

const rival = () => {
  const { spec, ...rest } = thingCrd();
  return { ...rest, metadata: { name: 'rivals.x.dev' }, spec: { ...spec, names: { ...spec.names, plural: 'rivals' } } };
};

const crdsOf = ({ events }: { readonly events: readonly { readonly object: ApiObject }[] }) =>
  events.map(({ object }) => object);

test('every control plane of a process writes the same objects in the same order', async () => {
  const crds = [withSize(5)];
  const first = await boot({ crds });
  expect(first.events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED']);
  for (let start = 0; start < 2; start++) expect(await boot({ crds })).toEqual(first);
});

test('all objects of a later control plane have its own UIDs and times', async () => {
  const at = async (random: number, hours: number) => (await boot({ crds: [withSize(5)], random, hours })).texts;
  await at(0, 0);
  const texts = await at(0.5, 1);
  const constant = texts.filter((text) => /^(\/namespaces|flowcontrol\S+) /.test(text));
  expect(constant.length).toBeGreaterThan(20);
  for (const text of constant) expect(text).toContain('"uid":"80808080-8080-4080-8080-808080808080"');
  for (const text of texts) {
    expect(new Set(text.match(/\d{4}-\d\d-\d\dT[^"]*/g))).toEqual(new Set(['2026-01-01T01:00:00Z']));
  }
});

test('the CRDs of a later control plane have its own UID and times', async () => {
  const crds = [withSize(5)];
  const texts = [];
  for (const [random, hours] of [
    [0, 0],
    [0.5, 1],
  ] as const) {
    texts.push(JSON.stringify(crdsOf(await boot({ crds, random, hours }))));
    expect(texts.at(-1)).toBe(JSON.stringify(crdsOf(await boot({ crds: [withSize(5)], random, hours }))));
  }
  expect(texts[1]).toContain('2026-01-01T01:00:00Z');
  expect(texts[1]).not.toContain('2026-01-01T00:00:00Z');
});

test('every control plane validates objects with the schema', async () => {
  const crds = [withSize(5)];
  const statuses: number[] = [];
  for (const size of [3, 9, 1]) statuses.push((await boot({ crds, thing: { size } })).status);
  expect(statuses).toEqual([201, 422, 422]);
});

test('a CRD that the caller changes between two starts is read again', async () => {
  const crd = withSize(5);
  expect((await boot({ crds: [crd], thing: { size: 9 } })).status).toBe(422);
  crd.spec.versions = withSize(10).spec.versions;
  expect((await boot({ crds: [crd], thing: { size: 9 } })).status).toBe(201);
});

test('a CRD whose names another CRD has is not accepted, although it was accepted in another control plane', async () => {
  const [one, other] = [withSize(5), rival()];
  await boot({ crds: [one] });
  await boot({ crds: [other] });
  const accepted = JSON.stringify(crdsOf(await boot({ crds: [other, one] })).at(-1));
  expect(accepted).toContain('"reason":"ListKindConflict"');
  expect(JSON.stringify(crdsOf(await boot({ crds: [other, one] })).at(-1))).toBe(accepted);
});

test('a CRD that was refused in one control plane is accepted in another control plane', async () => {
  const late = rival();
  const { events } = await boot({ crds: [withSize(5), late] });
  expect(JSON.stringify(events.at(-1))).toContain('"reason":"ListKindConflict"');
  expect(JSON.stringify((await boot({ crds: [late] })).events.at(-1))).toContain('"reason":"NoConflicts"');
});

test('in a store with CRDs, the names of a new CRD are compared with these CRDs', async () => {
  const crd = withSize(5);
  await boot({ crds: [crd] });
  const { plane } = await startTestPlane({ crds: [rival()] });
  const snapshot = plane.snapshot();
  await plane.close();
  const { client, plane: restored } = await startTestPlane({ crds: [crd], store: { snapshot } });
  await settle();
  const { body } = await client.send('GET', `${CRDS}/things.x.dev`);
  expect(JSON.stringify(body)).toContain('"reason":"ListKindConflict"');
  await restored.close();
});

test('a change of a CRD in one control plane does not change the CRD of another control plane', async () => {
  const crds = [withSize(5)];
  const first = await boot({ crds });
  const { client, plane } = await startTestPlane({ crds, random: () => 0 });
  const body = { spec: { versions: withSize(10).spec.versions } };
  const type = { 'content-type': 'application/merge-patch+json' };
  expect((await client.send('PATCH', `${CRDS}/things.x.dev`, body, type)).status).toBe(200);
  expect((await client.send('DELETE', `${CRDS}/things.x.dev`)).status).toBe(200);
  await plane.close();
  expect(await boot({ crds })).toEqual(first);
});
