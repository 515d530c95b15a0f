import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Clock } from '../../apimachinery/objects/clock.ts';
import type { ControlPlane, ControlPlaneOptions } from '../../plane.ts';
import { settle, startTestPlane, type TestClient, thingCrd } from '../../testing.ts';

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.x.dev';
const CRDS = CRD.slice(0, CRD.lastIndexOf('/'));
const THINGS = '/apis/x.dev/v1/namespaces/default/things';
const HELD = { finalizers: ['example.dev/hold'] };
const MERGE = { 'content-type': 'application/merge-patch+json' };

const open = new Set<() => unknown>();
afterEach(async () => {
  for (const close of [...open].reverse()) await close();
  open.clear();
});

const MOST_READS = 10_000;

/** A server that writes a CRD again after each of its own writes would never end, so its clock fails after many reads. */
function limitedClock(): Clock {
  let reads = 0;
  return {
    now: () => {
      if (++reads > MOST_READS) throw new Error('the server reads its clock without an end');
      return new Date('2026-01-01T00:00:00Z');
    },
    setTimeout: () => ({ cancel: () => undefined }),
  };
}

async function start(options: ControlPlaneOptions = {}): Promise<{ client: TestClient; plane: ControlPlane }> {
  const { client, plane } = await startTestPlane({ clock: limitedClock(), crds: [thingCrd()], ...options });
  open.add(() => plane.close());
  await statusOf(client, THINGS, 200);
  return { client, plane };
}

const thing = (name: string, metadata: object = {}): object => ({
  apiVersion: 'x.dev/v1',
  kind: 'Thing',
  metadata: { name, ...metadata },
});

const release = (client: TestClient, name: string) =>
  client.send('PATCH', `${THINGS}/${name}`, { metadata: { finalizers: null } }, MERGE);

async function namesOf(client: TestClient): Promise<unknown> {
  const { status, body } = await client.send('GET', THINGS);
  return status === 200 ? body.items.map(({ metadata }) => metadata.name) : status;
}

/** Sends a GET until its status is the expected one, or until many turns have passed. */
async function statusOf(client: TestClient, path: string, expected: number): Promise<number> {
  for (let turn = 1; ; turn += 1) {
    await settle();
    const { status } = await client.send('GET', path);
    if (status === expected || turn === 200) return status;
  }
}

test('an object that was admitted before its CRD was deleted, and stored after, is deleted too', async () => {
  let arrived: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let answer: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const { client } = await start({
    webhookTransport: async ({ body }) => {
      const { request } = JSON.parse(String(body)) as { request: { uid: string } };
      arrived();
      await held;
      const response = { uid: request.uid, allowed: true };
      return {
        status: 200,
        body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }),
      };
    },
  });
  const webhook = {
    name: 'slow.x.dev',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [{ operations: ['CREATE'], apiGroups: ['x.dev'], apiVersions: ['v1'], resources: ['things'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  expect((await client.send('POST', THINGS, thing('first', HELD))).status).toBe(201);
  expect((await client.send('POST', hooks, { metadata: { name: 'slow' }, webhooks: [webhook] })).status).toBe(201);
  const late = client.send('POST', THINGS, thing('late'));
  await asked;
  expect((await client.send('DELETE', CRD)).status).toBe(200);
  answer();
  expect((await late).status).toBe(201);
  await settle();
  expect(await namesOf(client)).toEqual(['first']);
  expect((await release(client, 'first')).status).toBe(200);
  expect(await statusOf(client, CRD, 404)).toBe(404);
  expect(await namesOf(client)).toBe(404);
});

test('a CRD that waits for an object is deleted after a restart of the server, together with the object', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'crd-lifecycle-'));
  open.add(() => rmSync(dir, { recursive: true }));
  const first = await start({ store: { dir } });
  expect((await first.client.send('POST', THINGS, thing('held', HELD))).status).toBe(201);
  await first.client.send('DELETE', CRD);
  await settle();
  await first.plane.close();

  const { client } = await start({ store: { dir }, crds: [] });
  expect(await namesOf(client)).toEqual(['held']);
  expect((await client.send('POST', THINGS, thing('new'))).status).toBe(403);
  await release(client, 'held');
  expect(await statusOf(client, CRD, 404)).toBe(404);
});

test('objects of a version that is no longer served are deleted with their CRD', async () => {
  const { client } = await start();
  await client.send('POST', THINGS, thing('a'));
  const { versions } = thingCrd().spec;
  const stored = versions.map((version) => ({ ...version, served: false }));
  await client.send('PATCH', CRD, { spec: { versions: stored } }, MERGE);
  await settle();
  await client.send('DELETE', CRD);
  expect(await statusOf(client, CRD, 404)).toBe(404);
  await client.send('POST', CRDS, thingCrd());
  await settle();
  expect(await namesOf(client)).toEqual([]);
});

test('an object with a finalizer is marked once, in the same way as by a delete request', async () => {
  const { client } = await start();
  await client.send('POST', THINGS, thing('held', HELD));
  await client.send('DELETE', CRD);
  await settle();
  const { metadata } = (await client.send('GET', `${THINGS}/held`)).body;
  expect(metadata).toMatchObject({ generation: 2, deletionGracePeriodSeconds: 0 });
  // A second delete of the CRD issues the deletes again, and changes nothing.
  await client.send('DELETE', CRD);
  await settle();
  expect((await client.send('GET', `${THINGS}/held`)).body.metadata).toEqual(metadata);
});

test('a CRD that was never established is deleted with this reason', async () => {
  const { client } = await start();
  const other = thingCrd();
  const names = { plural: 'others', kind: 'Thing' };
  const metadata = { name: 'others.x.dev', ...HELD };
  await client.send('POST', CRDS, { ...other, metadata, spec: { ...other.spec, names } });
  await settle();
  await client.send('DELETE', `${CRDS}/others.x.dev`);
  await settle();
  const { body } = await client.send('GET', `${CRDS}/others.x.dev`);
  expect(body.metadata.finalizers).toEqual(HELD.finalizers);
  const { conditions } = (body as unknown as { status: { conditions: { type: string; reason: string }[] } }).status;
  expect(conditions.find(({ type }) => type === 'Terminating')?.reason).toBe('NeverEstablished');
});

test('a write of the status may remove all stored versions, but needs valid names', async () => {
  const { client } = await start();
  const patch = async (status: object) => (await client.send('PATCH', `${CRD}/status`, { status }, MERGE)).status;
  expect(await patch({ acceptedNames: { plural: 'A' } })).toBe(422);
  expect(await patch({ storedVersions: [] })).toBe(200);
});
