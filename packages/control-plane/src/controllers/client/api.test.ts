import { expect, test } from 'vitest';
import { parseJson } from '../../apimachinery/objects/json.ts';
import { templateHash } from '../workloads/hash.ts';
import { Api } from './api.ts';

const LARGE = '9007199254740993';
const THINGS = { group: 'x.dev', version: 'v1', plural: 'things', namespaced: true };

test('a controller that reads an object and writes it again loses no digit of its integers', async () => {
  const bodies: string[] = [];
  const api = new Api({
    async handle(request) {
      if (request.method === 'PUT') bodies.push(new TextDecoder().decode(await request.body()));
      const body = `{"metadata":{"name":"a","namespace":"b"},"spec":{"num":${LARGE}}}`;
      return { status: 200, headers: { 'content-type': 'application/json' }, body };
    },
  });
  await api.update(THINGS, await api.get(THINGS, { namespace: 'b', name: 'a' }));
  expect(bodies).toEqual([expect.stringContaining(`"num":${LARGE}}`)]);
});

test('an empty list is not sent, as with protobuf, and a patch removes it', async () => {
  const bodies: unknown[] = [];
  const api = new Api({
    async handle(request) {
      bodies.push(parseJson(new TextDecoder().decode(await request.body())));
      return { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' };
    },
  });
  const object = {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name: 'a' },
    ports: [],
    list: [{ in: [], and: 1 }],
    map: {},
  };
  await api.create(THINGS, object);
  await api.update(THINGS, object);
  await api.patch(THINGS, { name: 'a' }, { ports: [], list: [{ in: [] }], gone: null });
  const sent = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' }, list: [{ and: 1 }], map: {} };
  expect(bodies).toEqual([sent, sent, { ports: null, list: [{}], gone: null }]);
});

test('templates that differ in the last digit of a large integer have different hashes', () => {
  const hash = (seconds: string) =>
    templateHash(parseJson(`{"spec":{"tolerations":[{"tolerationSeconds":${seconds}}]}}`));
  expect(hash('9223372036854775807')).toBe(hash('9223372036854775807'));
  expect(hash('9223372036854775807')).not.toBe(hash('9223372036854775806'));
});
