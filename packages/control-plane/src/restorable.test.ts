import { expect, onTestFinished, test } from 'vitest';
import { startRestorablePlane } from './restorable.ts';
import { StillClock, settle } from './testing.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

async function started() {
  const plane = await startRestorablePlane({ clock: new StillClock(), controllers: false });
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
