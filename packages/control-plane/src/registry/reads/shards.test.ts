import { afterEach, expect, test } from 'vitest';
import { shardHash } from '../../selectors/shard-selector.ts';
import { settle, startTestPlane } from '../../testing.ts';

const PATH = '/api/v1/configmaps';
const HALVES = [
  ['0x0000000000000000', '0x8000000000000000'],
  ['0x8000000000000000', '0x10000000000000000'],
] as const;

let setup: Awaited<ReturnType<typeof startTestPlane>>;
const start = async (shardedListAndWatch: boolean): Promise<void> => {
  setup = await startTestPlane({ features: { shardedListAndWatch } });
};
afterEach(() => setup.plane.close());

const add = async (count: number): Promise<readonly { readonly name: string; readonly uid: string }[]> => {
  const made = [];
  for (let index = 0; index < count; index += 1) {
    const name = `m-${index}`;
    const { body } = await setup.client.send('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name } });
    made.push({ name, uid: body.metadata.uid ?? '' });
  }
  return made;
};
const shard = (index: 0 | 1, field = 'uid'): string => {
  const [first, end] = HALVES[index];
  return `shardRange(object.metadata.${field}, '${first}', '${end}')`;
};
const at = (path: string, selector: string): string => `${path}shardSelector=${encodeURIComponent(selector)}`;
const namesOf = (body: unknown): readonly string[] =>
  (body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);

test('a list of a shard contains its objects and the selector, and also in pages', async () => {
  await start(true);
  const made = await add(20);
  for (const index of [0, 1] as const) {
    const expected = made.filter(({ uid }) => shardHash(uid) >= 1n << 63n === (index === 1)).map(({ name }) => name);
    const { body } = await setup.client.send('GET', at(`${PATH}?`, shard(index)));
    expect(
      namesOf(body)
        .filter((name) => name.startsWith('m-'))
        .sort(),
    ).toEqual(expected.sort());
    expect(body.metadata).toMatchObject({ shardInfo: { selector: shard(index) } });
    const pages: string[] = [];
    let next = '';
    do {
      const path = at(`/api/v1/namespaces/default/configmaps?limit=3&continue=${next}&`, shard(index));
      const page = await setup.client.send('GET', path);
      pages.push(...namesOf(page.body));
      next = (page.body.metadata as { continue?: string }).continue ?? '';
    } while (next !== '');
    expect(pages.filter((name) => name.startsWith('m-')).sort()).toEqual(expected);
  }
});

test('a watch of a shard contains only changes of its objects', async () => {
  await start(true);
  const watches = await Promise.all(
    ([0, 1] as const).map((index) => setup.client.watch(at(`${PATH}?watch=1&`, shard(index)))),
  );
  const made = await add(12);
  for (const { name } of made.slice(0, 6))
    await setup.client.send('DELETE', `/api/v1/namespaces/default/configmaps/${name}`);
  await settle();
  for (const [index, { events }] of watches.entries()) {
    const own = events.filter(({ object }) => object.metadata.name?.startsWith('m-'));
    const expected = made.filter(({ uid }) => shardHash(uid) >= 1n << 63n === (index === 1)).map(({ name }) => name);
    expect(own.filter(({ type }) => type === 'ADDED').map(({ object }) => object.metadata.name)).toEqual(expected);
    const gone = made.slice(0, 6).flatMap(({ name }) => (expected.includes(name) ? [name] : []));
    expect(own.filter(({ type }) => type === 'DELETED').map(({ object }) => object.metadata.name)).toEqual(gone);
  }
});

test('an invalid selector is refused, and without the feature the parameter is ignored', async () => {
  await start(true);
  expect((await setup.client.send('GET', at(`${PATH}?`, 'shardRange()'))).status).toBe(400);
  await setup.plane.close();
  await start(false);
  await add(4);
  const { status, body } = await setup.client.send('GET', at(`${PATH}?`, 'shardRange()'));
  expect([status, namesOf(body).filter((name) => name.startsWith('m-'))]).toEqual([200, ['m-0', 'm-1', 'm-2', 'm-3']]);
  expect(body.metadata).not.toHaveProperty('shardInfo');
});
