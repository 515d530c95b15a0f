import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { startTestPlane } from '../testing.ts';

const PATH = '/apis/apps/v1/namespaces/default/daemonsets';
const NAME = 'deprecated.daemonset.template.generation';
const PARTIAL = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };
const OLD_TABLE = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1beta1' };

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeEach(async () => {
  setup = await startTestPlane({ controllers: false });
});
afterEach(() => setup.plane.close());

const daemonSet = (generation?: string, image = 'i', status = {}): object => ({
  metadata: { name: 'd', ...(generation === undefined ? {} : { annotations: { [NAME]: generation } }) },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image }] } },
  },
  status,
});
const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  setup.client.send(method, path, body, headers);
const shown = (object: ApiObject): string | undefined => object.metadata.annotations?.[NAME];

test.each([
  [undefined, '1'],
  ['5', '5'],
  ['-3', '1'],
  ['007', '7'],
])('a new daemon set whose template generation is %s gets %s', async (given, expected) => {
  expect(shown((await send('POST', PATH, daemonSet(given))).body)).toBe(expected);
});

test.each([
  ['x', 'invalid syntax'],
  ['', 'invalid syntax'],
  ['9223372036854775808', 'value out of range'],
])('a template generation %j is invalid', async (given, why) => {
  const { status, body } = await send('POST', PATH, daemonSet(given));
  const words = `strconv.ParseInt: parsing ${JSON.stringify(given)}: ${why}`;
  expect([status, body.message]).toEqual([400, `DaemonSet in version "v1" cannot be handled as a DaemonSet: ${words}`]);
});

test('an update cannot set the template generation, which counts changes of the template', async () => {
  await send('POST', PATH, daemonSet('5'));
  expect(shown((await send('PUT', `${PATH}/d`, daemonSet('9'))).body)).toBe('5');
  expect(shown((await send('PUT', `${PATH}/d`, daemonSet(undefined, 'other'))).body)).toBe('6');
  const { body } = await send('PUT', `${PATH}/d/status?fieldManager=s`, daemonSet('77', 'i', { numberReady: 1 }));
  expect(shown(body)).toBe('6');
  // As in Kubernetes, a different value in the body counts as a change, although the server ignores it.
  const ofStatus = body.metadata.managedFields?.find(({ manager }) => manager === 's');
  expect(ofStatus?.fieldsV1).toMatchObject({ 'f:metadata': { 'f:annotations': { [`f:${NAME}`]: {} } } });
});

test('metadata-only answers omit the template generation and have the requested version', async () => {
  await send('POST', PATH, daemonSet('5'));
  const { body } = await send('GET', `${PATH}/d`, undefined, PARTIAL);
  expect([body.kind, body.metadata.annotations]).toEqual(['PartialObjectMetadata', undefined]);
  const table = (await send('GET', `${PATH}/d`, undefined, OLD_TABLE)).body;
  const rows = table.rows as { object: ApiObject }[];
  expect(rows[0]?.object).toMatchObject({ apiVersion: 'meta.k8s.io/v1beta1' });
  expect(rows[0]?.object.metadata).not.toHaveProperty('annotations');
});
