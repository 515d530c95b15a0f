import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../../apimachinery/objects/json.ts';
import { definitionSchema } from '../../resources/schemas.ts';
import { startTestPlane } from '../../testing.ts';
import { parseMerging } from './merge-repeated.ts';

test.each<[text: string, value: unknown]>([
  ['{"a":{"x":1,"y":2},"a":{"y":3}}', { a: { x: 1, y: 3 } }],
  ['{"a":{"x":1},"a":{}}', { a: { x: 1 } }],
  ['{"a":{"x":1},"a":null}', { a: null }],
  ['{"a":1,"a":2}', { a: 2 }],
  ['{"a":[{"x":1},{"x":2}],"a":[{"y":3}]}', { a: [{ x: 1, y: 3 }] }],
  ['{"m":{"k":{"x":1}},"m":{"k":{"y":2},"l":{}}}', { m: { k: { y: 2 }, l: {} } }],
  ['{"a":{"b":{"c":1}}, "a":{"b":{"d":[true,"}",null]}}}', { a: { b: { c: 1, d: [true, '}', null] } } }],
  ['{"n":9007199254740993,"n":9007199254740993}', { n: 9007199254740993n }],
])('%s', (text, value) => {
  const schema = { properties: { m: { additionalProperties: { properties: {} } } } };
  expect(parseMerging(text, schema)).toEqual(value);
});

test.each<[text: string, fields: Record<string, unknown>]>([
  // A later null removes pointers, lists and maps, but leaves texts, numbers and structures unchanged.
  ['"restartPolicy":"Never","restartPolicy":null', { restartPolicy: 'Never' }],
  ['"hostPID":true,"hostPID":null', { hostPID: true }],
  ['"priority":5,"priority":null', { priority: null }],
  ['"nodeSelector":{"a":"b"},"nodeSelector":null', { nodeSelector: null }],
  ['"containers":[{"name":"c"}],"containers":null', { containers: null }],
  ['"securityContext":{"runAsUser":1},"securityContext":null', { securityContext: null }],
])('a null after a value keeps or removes the value of a pod, as in Go: %s', (text, fields) => {
  expect(parseMerging(`{${text}}`, definitionSchema('V1PodSpec'))).toEqual(fields);
});

test('a null after a value of an int-or-string is zero, and that of a quantity keeps its text', () => {
  const port = '{"targetPort":"http","targetPort":null}';
  expect(parseMerging(port, definitionSchema('V1ServicePort'))).toEqual({ targetPort: 0 });
  const key = '{"divisor":"1","divisor":null}';
  expect(parseMerging(key, definitionSchema('V1ResourceFieldSelector'))).toEqual({ divisor: '1' });
});

test.each([
  ['an object', '"selector": "x", "selector": null'],
  ['a list', '"ports": {}, "ports": []'],
  ['a boolean', '"publishNotReadyAddresses": 1, "publishNotReadyAddresses": true'],
  ['a text', '"clusterIP": 1, "clusterIP": "None"'],
  ['an integer', '"healthCheckNodePort": "1", "healthCheckNodePort": 0'],
])('a first value that is not %s is refused, although a later one is valid', async (_, fields) => {
  const { plane, client } = await startTestPlane();
  const body = `{"metadata":{"name":"a"},"spec":{${fields}}}`;
  const { status, body: refused } = await client.send('POST', '/api/v1/namespaces/default/services', body);
  expect([status, refused['message']]).toEqual([400, expect.stringContaining('json: cannot unmarshal')]);
  await plane.close();
});

test('an integer with an exponent or a fraction is refused in a built-in kind', async () => {
  const { plane, client } = await startTestPlane();
  const path = '/apis/batch/v1/namespaces/default/jobs';
  const send = (name: string, spec: string) =>
    client.send('POST', path, `{"metadata":{"name":"${name}"},"spec":{${spec}}}`);
  const { status, body } = await send('a', '"parallelism":1e3');
  expect([status, body['message']]).toEqual([
    400,
    'Job in version "v1" cannot be handled as a Job: json: cannot unmarshal number 1e3 into Go struct field JobSpec.spec.parallelism of type int32',
  ]);
  const pod = '"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}';
  expect((await send('b', `"parallelism":5.0,${pod}`)).status).toBe(400);
  expect((await send('c', `"parallelism":5,${pod}`)).status).toBe(201);
  await plane.close();
});

test('a text without repeated fields is read as JSON', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const body = `{"value":${text}}`;
      expect(parseMerging(body, undefined)).toEqual(parseJson(body));
    }),
  );
});

test('a built-in kind reads a repeated field into the first one', async () => {
  const { plane, client } = await startTestPlane();
  const body = '{"metadata":{"labels":{"a":"1","b":"1"},"labels":{"b":"2"},"name":"x"},"data":{"k":"v"},"data":{}}';
  const { status, body: made } = await client.send('POST', '/api/v1/namespaces/default/configmaps', body);
  expect([status, made.metadata.labels, made['data']]).toEqual([201, { a: '1', b: '2' }, { k: 'v' }]);
  const yaml = { 'content-type': 'application/yaml' };
  const read = await client.send('POST', '/api/v1/namespaces/default/configmaps', body.replace('"x"', '"z"'), yaml);
  // A body in the format YAML is read as YAML even if it looks like JSON, so the last value of a key counts.
  expect([read.status, read.body.metadata.labels, read.body['data']]).toEqual([201, { b: '2' }, undefined]);
  const mixed = '{"metadata":{"labels":{"a":1,"a":"2"},"name":"y"}}';
  const refused = await client.send('POST', '/api/v1/namespaces/default/configmaps', mixed);
  expect([refused.status, refused.body['message']]).toEqual([400, expect.stringContaining('cannot unmarshal number')]);
  await plane.close();
});
