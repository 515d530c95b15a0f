import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../plane.ts';
import { WireReader } from '../protobuf/reader.ts';
import { thingCrd } from '../testing.ts';

const OLDER = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const NEWER = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
});
afterAll(() => plane.close());

const ask = (headers: Record<string, string>) => plane.fetch(new Request('https://plane/openapi/v2', { headers }));
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const crd = thingCrd();

describe('the form of /openapi/v2', () => {
  it.each([
    [OLDER, NEWER],
    [NEWER, NEWER],
    [`${OLDER};q=0.5, application/json;q=0.9`, 'application/json'],
    [`application/json;q=0.5, ${OLDER}`, NEWER],
    [`text/plain, ${OLDER}`, NEWER],
    [`*/*, ${OLDER}`, NEWER],
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
    ['', 'application/json'],
  ])('the form of /openapi/v2 for %j is %s', async (accept, type) => {
    const answer = await ask(accept === '' ? {} : { accept });
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('vary')]).toEqual([
      200,
      type,
      'Accept',
    ]);
    const first = new Uint8Array(await answer.arrayBuffer())[0];
    expect(first).toBe(type === 'application/json' ? 0x7b : 0x0a);
  });

  it('/openapi/v2 is refused without a body for clients that accept none', async () => {
    const answer = await ask({ accept: 'text/plain' });
    expect([answer.status, answer.headers.get('vary'), await answer.text()]).toEqual([406, 'Accept', '']);
  });

  it('/openapi/v2 is compressed on request', async () => {
    const plain = Buffer.from(await (await ask({ accept: OLDER })).arrayBuffer());
    const answer = await ask({ accept: OLDER, 'accept-encoding': 'gzip' });
    expect([answer.headers.get('content-encoding'), answer.headers.get('vary')]).toEqual([
      'gzip',
      'Accept, Accept-Encoding',
    ]);
    expect(gunzipSync(await answer.arrayBuffer()).equals(plain)).toBe(true);
  });
});

describe('the tag of /openapi/v2', () => {
  it('the tag of /openapi/v2 is the same in both forms, allows 304 answers, and changes with the kinds', async () => {
    const etag = (await ask({ accept: OLDER })).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    expect((await ask({})).headers.get('etag')).toBe(etag);
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const answer = await ask({ accept: OLDER, 'if-none-match': known });
      expect([answer.status, answer.headers.get('etag'), await answer.text()]).toEqual([304, etag, '']);
    }
    const body = JSON.stringify(crd);
    const headers = { 'content-type': 'application/json' };
    expect((await plane.fetch(new Request(`https://plane${CRDS}`, { method: 'POST', headers, body }))).status).toBe(
      201,
    );
    const answer = await ask({ accept: OLDER, 'if-none-match': etag });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('etag')).not.toBe(etag);
    const fields = [...new WireReader(new Uint8Array(await answer.arrayBuffer())).fields()];
    const definitions = Buffer.from(fields.find(({ number }) => number === 9)?.bytes ?? []);
    expect(definitions.includes('dev.x.v1.Thing')).toBe(true);
  });
});
