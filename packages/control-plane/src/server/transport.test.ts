import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../plane.ts';
import { StillClock } from '../testing.ts';
import { transportTo } from './transport.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const json = { 'Content-Type': 'application/json' };

let plane: ControlPlane;
let clock: StillClock;
beforeEach(async () => {
  clock = new StillClock();
  plane = await startControlPlane({ clock, controllers: false });
});
afterEach(() => plane.close());

const post = (name: string) =>
  plane.transport({
    method: 'POST',
    path: CONFIG_MAPS,
    headers: json,
    body: JSON.stringify({ metadata: { name }, data: { a: 'ä' } }),
  });

const read = async (body: AsyncIterable<Uint8Array> | null): Promise<string> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of body ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
};

test('returns the same as fetch: status, headers in any case, text and body', async () => {
  expect((await post('a')).status).toBe(201);
  for (const path of [`${CONFIG_MAPS}/a`, `${CONFIG_MAPS}/none`, '/nowhere', '/version']) {
    const answer = await plane.transport({ method: 'GET', path, headers: {} });
    const fetched = await plane.fetch(new Request(`https://plane${path}`));
    expect(answer.status).toBe(fetched.status);
    expect(answer.headers.get('Content-Type')).toBe(fetched.headers.get('content-type'));
    const text = await fetched.text();
    expect(await answer.text()).toBe(text);
    expect(await read(answer.body)).toBe(text);
  }
});

test('headers are read in any case, and warnings are returned', async () => {
  const answer = await plane.transport({
    method: 'POST',
    path: `${CONFIG_MAPS}?fieldValidation=Warn`,
    headers: { 'CONTENT-TYPE': 'application/json', 'Impersonate-User': 'somebody' },
    body: '{"metadata":{"name":"b"},"unknown":1}',
  });
  expect(answer.status).toBe(403);
  const warned = await plane.transport({
    method: 'POST',
    path: `${CONFIG_MAPS}?fieldValidation=Warn`,
    headers: json,
    body: '{"metadata":{"name":"b"},"unknown":1}',
  });
  expect(warned.headers.get('Warning')).toBe('299 - "unknown field \\"unknown\\""');
  expect(warned.headers.get('audit-id')).toMatch(/./);
});

test('an answer to HEAD has no body', async () => {
  const answer = await plane.transport({ method: 'HEAD', path: CONFIG_MAPS, headers: {} });
  expect([answer.body, await answer.text()]).toEqual([null, '']);
});

test('a watch returns each change immediately, and ends with its signal', async () => {
  const end = new AbortController();
  const watch = await plane.transport({
    method: 'GET',
    path: `${CONFIG_MAPS}?watch=true`,
    headers: {},
    signal: end.signal,
  });
  const pieces = (watch.body ?? expect.unreachable())[Symbol.asyncIterator]();
  const first = pieces.next();
  await post('c');
  const { value } = await first;
  expect(JSON.parse(new TextDecoder().decode(value))).toMatchObject({
    type: 'ADDED',
    object: { metadata: { name: 'c' } },
  });
  const next = pieces.next();
  end.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
});

test('a watch that ends by itself can be read as one text', async () => {
  await post('d');
  const path = `${CONFIG_MAPS}?watch=true&timeoutSeconds=60`;
  const answer = await plane.transport({ method: 'GET', path, headers: {} });
  const text = answer.text();
  await clock.advance(60_000);
  expect(await text).toContain('"name":"d"');
});

test('with an aborted signal nothing is sent; an abort during the request rejects with its reason at once', async () => {
  const gone = AbortSignal.abort(new Error('gone'));
  let asked = 0;
  const stuck = transportTo(() => {
    asked++;
    return new Promise(() => undefined);
  });
  await expect(stuck({ method: 'GET', path: '/', headers: {}, signal: gone })).rejects.toThrow('gone');
  expect(asked).toBe(0);
  const end = new AbortController();
  const answer = stuck({ method: 'GET', path: '/', headers: {}, signal: end.signal });
  end.abort(new Error('too late'));
  await expect(answer).rejects.toThrow('too late');
});
