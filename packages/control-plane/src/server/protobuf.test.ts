import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { decodeProtobuf } from '../protobuf/index.ts';
import { settle, startTestPlane, thingCrd } from '../testing.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const PATH = '/api/v1/namespaces/default/configmaps';

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeAll(async () => {
  setup = await startTestPlane({ crds: [thingCrd()] });
  await setup.client.send('POST', PATH, { metadata: { name: 'a' }, data: { k: 'v' } });
});
afterAll(() => setup.plane.close());

const ask = (path: string, headers: Record<string, string>, init: RequestInit = {}): Promise<Response> =>
  setup.plane.fetch(new Request(`https://plane${path}`, { headers, ...init }));
const decode = (bytes: ArrayBuffer | Uint8Array): ApiObject => decodeProtobuf(new Uint8Array(bytes), () => undefined);

interface Read {
  readonly status: number;
  readonly type: string | null;
  readonly body: ApiObject;
}
async function read(path: string, accept: string): Promise<Read> {
  const answer = await ask(path, { accept });
  const type = answer.headers.get('content-type');
  const body =
    type === PROTOBUF ? decode(await answer.arrayBuffer()) : ((await answer.json().catch(() => ({}))) as ApiObject);
  return { status: answer.status, type, body };
}

describe('protobuf answers', () => {
  it('protobuf answers are available for objects, lists, metadata and refusals', async () => {
    expect(await read(`${PATH}/a`, PROTOBUF)).toMatchObject({
      type: PROTOBUF,
      body: { kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } },
    });
    const list = await read(PATH, PROTOBUF);
    expect(list.body).toMatchObject({ kind: 'ConfigMapList', items: expect.arrayContaining([]) });
    const partial = await read(`${PATH}/a`, `${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`);
    expect(partial.body).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'a' } });
    expect(await read(`${PATH}/none`, PROTOBUF)).toMatchObject({
      status: 404,
      type: PROTOBUF,
      body: { kind: 'Status', reason: 'NotFound', message: 'configmaps "none" not found' },
    });
  });

  it.each([
    [`${PROTOBUF},application/json`, PROTOBUF],
    [`${PROTOBUF};q=0.5,application/json;q=0.9`, 'application/json'],
    [`*/*,${PROTOBUF}`, PROTOBUF],
    ['application/cbor,*/*', 'application/json'],
    [`${PROTOBUF};as=Table;g=meta.k8s.io;v=v1,application/json`, 'application/json'],
    [`${PROTOBUF};stream=watch`, PROTOBUF],
  ])('Accept: %s is answered as %s', async (accept, type) => {
    expect(await read(PATH, accept)).toMatchObject({ status: 200, type });
  });

  it('protobuf answers are not available for a Table and a custom kind', async () => {
    const message =
      'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';
    expect(await read(PATH, `${PROTOBUF};as=Table;g=meta.k8s.io;v=v1`)).toMatchObject({
      status: 406,
      body: { message },
    });
    const things = '/apis/x.dev/v1/namespaces/default/things';
    expect(await read(things, PROTOBUF)).toMatchObject({ status: 406, type: PROTOBUF, body: { message } });
    expect(await read(things, `${PROTOBUF},application/json`)).toMatchObject({ status: 200, type: 'application/json' });
    // For a custom object, only the metadata can be encoded as protobuf.
    const metadata = `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`;
    expect(await read(things, metadata)).toMatchObject({ body: { kind: 'PartialObjectMetadataList' } });
  });

  it('protobuf answers are compressed on request when they are large', async () => {
    await setup.client.send('POST', PATH, { metadata: { name: 'large' }, data: { k: 'x'.repeat(200_000) } });
    const answer = await ask(`${PATH}/large`, { accept: PROTOBUF, 'accept-encoding': 'gzip' });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(decode(gunzipSync(await answer.arrayBuffer()))).toMatchObject({ metadata: { name: 'large' } });
    await setup.client.send('DELETE', `${PATH}/large`);
  });

  it('protobuf answers of a watch are frames with their length, including the bookmark of a streaming list', async () => {
    const gone = new AbortController();
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const answer = await ask(`${PATH}?${query}`, { accept: PROTOBUF }, { signal: gone.signal });
    expect(answer.headers.get('content-type')).toBe(`${PROTOBUF};stream=watch`);
    await setup.client.send('POST', PATH, { metadata: { name: 'b' } });
    await setup.client.send('DELETE', `${PATH}/b`);
    const frames: Uint8Array[] = [];
    const reader = answer.body?.getReader();
    while (frames.length < 4) {
      await settle();
      const { value } = (await reader?.read()) ?? {};
      if (value !== undefined) frames.push(value);
    }
    gone.abort();
    const seen = frames.map((frame) => {
      expect(Buffer.from(frame).readUInt32BE(0)).toBe(frame.length - 4);
      const object = frame.subarray(Buffer.from(frame).indexOf('k8s\0'));
      const { metadata } = decode(object);
      return `${Buffer.from(frame.subarray(6, 6 + (frame[5] ?? 0))).toString()} ${metadata.name ?? ''}`.trim();
    });
    expect(seen).toEqual(['ADDED a', 'BOOKMARK', 'ADDED b', 'DELETED b']);
  });
});

it('a watch has no YAML form, which the server checks after the version', async () => {
  const { status, body } = await read(`${PATH}?watch=1`, 'application/yaml');
  expect(status).toBe(406);
  expect(body).toBeDefined();
  expect((await read(`${PATH}?watch=1&resourceVersion=x`, 'application/yaml')).status).toBe(500);
});
