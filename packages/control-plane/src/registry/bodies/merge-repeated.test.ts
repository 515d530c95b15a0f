import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../../apimachinery/objects/json.ts';
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
  await plane.close();
});
