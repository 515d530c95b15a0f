import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../plane.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
});
afterAll(() => plane.close());

async function ask(method: string, path: string, body: string | undefined, headers: Record<string, string>) {
  const answer = await plane.fetch(
    new Request(`https://plane${path}`, { method, headers, ...(body === undefined ? {} : { body }) }),
  );
  return { status: answer.status, body: (await answer.json()) as { message?: string; data?: object } };
}
const make = (body: string, type = 'application/json') => ask('POST', MAPS, body, { 'content-type': type });

describe('a body of an unknown type', () => {
  test.each(['text/plain', 'application/json;foo', ';', 'application/json; charset'])(
    '%s is refused, also in a deletion',
    async (type) => {
      await make('{"metadata":{"name":"kept"}}');
      expect((await make('{"metadata":{"name":"x"}}', type)).status).toBe(415);
      for (const path of [`${MAPS}/kept`, MAPS]) {
        const refused = await ask('DELETE', path, '{}', { 'content-type': type });
        expect([refused.status, refused.body.message]).toEqual([
          415,
          expect.stringContaining('the body of the request was in an unknown format'),
        ]);
      }
      expect((await ask('GET', `${MAPS}/kept`, undefined, {})).status).toBe(200);
    },
  );

  test('parameters of a type are ignored', async () => {
    expect((await make('{"metadata":{}}', 'Application/JSON; charset="latin1"; a=b;')).status).toBe(422);
  });

  test('a patch type is compared exactly', async () => {
    const patch = (type: string) => ask('PATCH', `${MAPS}/kept`, '{}', { 'content-type': type });
    expect((await patch('Application/merge-patch+json')).status).toBe(415);
    expect((await patch('application/merge-patch+json; charset=x')).status).toBe(200);
    // The router accepts a list of media types if one of them is supported, but handlers accept only a single type.
    const several = await patch('text/plain, application/merge-patch+json');
    expect([several.status, several.body.message]).toEqual([
      415,
      expect.stringMatching(/unknown format.*json-patch\+json/),
    ]);
    expect((await patch('text/plain, text/html')).body.message).toBe('415: Unsupported Media Type');
  });

  test('invalid protobuf is reported with its bytes', async () => {
    const { status, body } = await make('{}', 'application/vnd.kubernetes.protobuf');
    expect([status, body.message]).toEqual([
      400,
      'the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})',
    ]);
  });
});

test('an unpaired surrogate becomes U+FFFD, in a new object and in a patch', async () => {
  const made = await make('{"metadata":{"name":"half"},"data":{"a":"x\\ud800y","b":"\\ud83d\\ude00"}}');
  expect(made.body.data).toEqual({ a: 'x\ufffdy', b: '😀' });
  const type = { 'content-type': 'application/merge-patch+json' };
  const patched = await ask('PATCH', `${MAPS}/half`, '{"data":{"c":"\\udc00"}}', type);
  expect(patched.body.data).toMatchObject({ c: '\ufffd' });
});

test('null is an empty object', async () => {
  expect(await make('null')).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('metadata.name') },
  });
});

test('the documents of groups accept any type of application', async () => {
  expect((await ask('GET', '/apis/apps', undefined, { accept: 'application/*' })).status).toBe(200);
  const { body } = await ask('GET', '/apis/apps', undefined, { accept: 'text/html' });
  expect(body.message).toMatch(/^only the following media types are accepted/);
});

test('a null in a map of bytes is empty', async () => {
  const { body } = await make('{"metadata":{"name":"bytes"},"binaryData":{"a":null,"b":"aGk="}}');
  expect(body).toMatchObject({ binaryData: { a: '', b: 'aGk=' } });
});

test('a refusal for a client that accepts no form is indented JSON without a final line break', async () => {
  const answer = await plane.fetch(new Request(`https://plane${MAPS}/none`, { headers: { accept: 'text/html' } }));
  const text = await answer.text();
  expect([answer.status, answer.headers.get('content-type')]).toEqual([406, 'application/json']);
  expect(text).toMatch(/^\{\n {2}"kind": "Status",\n[\s\S]*\n\}$/);
});
