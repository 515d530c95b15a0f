import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ControlPlaneOptions } from './plane.ts';
import { startRestorablePlane } from './restorable.ts';
import { StillClock, settle } from './testing.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

async function started(options: Pick<ControlPlaneOptions, 'store'> = {}) {
  const plane = await startRestorablePlane({ clock: new StillClock(), controllers: false, ...options });
  onTestFinished(() => plane.close());
  const send = async (method: string, path: string, body?: object) => {
    const text =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await plane.fetch(new Request(`https://plane${path}`, { method, ...text }));
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  const create = async (name: string): Promise<number> =>
    Number((await send('POST', PATH, { metadata: { name } })).body.metadata.resourceVersion);
  const list = async () => {
    const { body } = await send('GET', PATH);
    const names = body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    return { names, version: Number(body.metadata.resourceVersion) };
  };
  return { plane, send, create, list };
}

test('a restored plane has the objects and the revision of the backup', async () => {
  const { plane, create, list } = await started();
  const first = await create('before');
  const backup = plane.snapshot();
  const second = await create('after');
  await plane.restore(backup);
  const { names, version } = await list();
  expect(names).toEqual(['before']);
  expect(version).toBeGreaterThanOrEqual(first);
  expect(version).toBeLessThan(second);
  expect(await create('again')).toBe(version + 1);
});

test('with a bumped revision, revisions continue above all earlier ones, and older watches must list again', async () => {
  const { plane, send, create, list } = await started();
  await create('before');
  const backup = plane.snapshot();
  const second = await create('after');
  await plane.restore(backup, { bumpRevision: 1_000_000 });
  expect((await list()).version).toBeGreaterThan(second + 900_000);
  const { body } = await send('GET', `${PATH}?watch=true&resourceVersion=${second}`);
  expect(body).toMatchObject({ type: 'ERROR', object: { code: 410 } });
});

test('a restore ends the watches of the previous control plane', async () => {
  const { plane } = await started();
  const { body } = await plane.transport({ method: 'GET', path: `${PATH}?watch=true`, headers: {} });
  const read = (async () => {
    for await (const piece of body ?? []) void piece;
  })().catch((error: unknown) => String(error));
  await settle();
  await plane.restore(plane.snapshot());
  expect(await read).toContain('ECONNRESET');
});

test('after a crash, requests are refused until a control plane starts with the files of the crash', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'crash-'));
  const dir = join(folder, 'data');
  const { plane, create, list } = await started({ store: { dir } });
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await create('acknowledged');
  const body = JSON.stringify({ metadata: { name: 'pending' } });
  const headers = { 'content-type': 'application/json' };
  const ask = (method: string, body?: string) =>
    plane.transport({ method, path: PATH, headers, body }).then(({ status }) => status, String);
  const pending = ask('POST', body);
  plane.crash();
  cpSync(dir, join(folder, 'copy'), { recursive: true, filter: (path) => !/lock\.sqlite|-shm$/.test(path) });
  expect([await pending, await ask('GET')]).toEqual(['Error: read ECONNRESET', 'Error: connect ECONNREFUSED']);
  await plane.restart({ dir: join(folder, 'copy') });
  expect((await list()).names).toEqual(['acknowledged']);
});

test('a compaction ends neither a page of the current version nor an open watch, but refuses older ones', async () => {
  const { plane, send, create } = await started();
  const first = await create('a');
  await create('b');
  const page = (await send('GET', `${PATH}?limit=1`)).body.metadata.continue;
  const { body } = await plane.transport({ method: 'GET', path: `${PATH}?watch=true`, headers: {} });
  await create('c');
  plane.compact();
  const old = await send('GET', `${PATH}?limit=1&continue=${page}`);
  expect([old.status, old.body.reason]).toEqual([410, 'Expired']);
  expect((await send('GET', `${PATH}?watch=true&resourceVersion=${first}`)).body).toMatchObject({ type: 'ERROR' });
  const read = body?.[Symbol.asyncIterator]();
  const seen: string[] = [];
  while (!seen.join('').includes('"d"')) {
    if (seen.length === 0) await create('d');
    const { value } = (await read?.next()) ?? {};
    seen.push(new TextDecoder().decode(value));
  }
  const current = (await send('GET', `${PATH}?limit=1`)).body.metadata.continue;
  expect((await send('GET', `${PATH}?limit=1&continue=${current}`)).status).toBe(200);
});
