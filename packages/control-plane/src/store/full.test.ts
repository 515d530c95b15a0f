import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { settle, startTestPlane } from '../testing.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const store = () => ({ dir: join(dir, 'data'), maxBytes: 1_200_000 });
const body = (name: string) => ({ metadata: { name }, data: { k: 'x'.repeat(20_000) } });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'full-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a full store refuses and discards writes, answers reads, and accepts writes again when there is space', async () => {
  const { client, plane } = await startTestPlane({ store: store() });
  const names = async () => (await client.send('GET', PATH)).body.items.map(({ metadata }) => metadata.name ?? '');
  const before = await names();
  const watch = await client.watch(
    `${PATH}?watch=1&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
  );
  const stored: string[] = [];
  let refused: Awaited<ReturnType<typeof client.send>> | undefined;
  for (let round = 0; refused === undefined; round++) {
    const batch = ['a', 'b', 'c'].map((name) => `${name}-${round}`);
    // A read during these writes returns only objects whose writes become durable.
    const [read, ...answers] = await Promise.all([
      names(),
      ...batch.map((name) => client.send('POST', PATH, body(name))),
    ]);
    stored.push(...batch.filter((_, index) => answers[index]?.status === 201));
    refused = answers.find(({ status }) => status !== 201);
    expect(read.filter((name) => !before.includes(name) && !stored.includes(name))).toEqual([]);
  }
  expect(refused.status).toBe(507);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(refused.body).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'InternalError', code: 507 });
  expect(refused.body.message).toMatch(/^the storage of this server is full, so the server stored no change: /);
  expect((await names()).sort()).toEqual([...before, ...stored].sort());
  const grow = { data: { k: 'x'.repeat(900_000) } };
  const merge = { 'content-type': 'application/merge-patch+json' };
  expect((await client.send('PATCH', `${PATH}/a-0`, grow, merge)).status).toBe(507);
  expect((await client.send('GET', `${PATH}/a-0`)).body.data).toEqual(body('a-0').data);

  for (const name of ['a-0', 'b-0', 'c-0']) expect((await client.send('DELETE', `${PATH}/${name}`)).status).toBe(200);
  expect((await client.send('POST', PATH, body('after'))).status).toBe(201);
  await settle();
  expect(watch.events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
    ...stored.map((name) => `ADDED ${name}`),
    'DELETED a-0',
    'DELETED b-0',
    'DELETED c-0',
    'ADDED after',
  ]);
  const versions = watch.events.map(({ object }) => Number(object.metadata.resourceVersion));
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  const there = await names();
  await plane.close();

  const again = await startTestPlane({ store: store() });
  const kept = (await again.client.send('GET', PATH)).body.items.map(({ metadata }) => metadata.name);
  expect(kept).toEqual(there);
  await again.plane.close();
});
