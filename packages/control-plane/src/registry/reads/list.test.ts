import { afterEach, beforeEach, expect, test } from 'vitest';
import { type AnswerBody, startTestPlane } from '../../testing.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
let setup: Awaited<ReturnType<typeof startTestPlane>>;

beforeEach(async () => {
  setup = await startTestPlane();
  for (const name of ['e', 'c', 'a', 'd', 'b']) await create(name);
});

afterEach(() => setup.plane.close());

const create = (name: string) => setup.client.send('POST', PATH, { metadata: { name } });
const list = (query: string) => setup.client.send('GET', `${PATH}?${query}`);
const names = (body: AnswerBody) => body.items.map(({ metadata }) => metadata.name);

test('later pages show the state of the first one, independent of changes in between', async () => {
  const first = await list('limit=2');
  expect(names(first.body)).toEqual(['a', 'b']);
  expect(first.body.metadata.remainingItemCount).toBe(3);
  await setup.client.send('DELETE', `${PATH}/c`);
  await create('bb');
  await setup.client.send(
    'PATCH',
    `${PATH}/d`,
    { data: { k: 'new' } },
    { 'content-type': 'application/merge-patch+json' },
  );
  const second = await list(`limit=2&continue=${first.body.metadata.continue}`);
  expect(names(second.body)).toEqual(['c', 'd']);
  expect(second.body.items[1]?.data).toBeUndefined();
  expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  const third = await list(`limit=2&continue=${second.body.metadata.continue}`);
  expect(names(third.body)).toEqual(['e']);
  expect(third.body.metadata.continue).toBeUndefined();
});

test('a page of a compacted state is 410 with a token that continues from the current state', async () => {
  const first = await list('limit=2');
  await create('f');
  await setup.clock.advance(6 * 60_000);
  await create('bb');
  const expired = await list(`limit=2&continue=${first.body.metadata.continue}`);
  expect(expired.body).toMatchObject({ code: 410, reason: 'Expired' });
  const rest = await list(`limit=2&continue=${expired.body.metadata.continue}`);
  expect(names(rest.body)).toEqual(['bb', 'c']);
});

test('a continue token expires with the age of its first page, also without changes', async () => {
  const first = await list('limit=2');
  await setup.clock.advance(4 * 60_000);
  const second = await list(`limit=2&continue=${first.body.metadata.continue}`);
  expect(names(second.body)).toEqual(['c', 'd']);
  await setup.clock.advance(2 * 60_000);
  for (const { body } of [first, second]) {
    const expired = await list(`limit=2&continue=${body.metadata.continue}`);
    expect(expired.body).toMatchObject({ code: 410, reason: 'Expired' });
  }
  const expired = await list(`limit=1&continue=${second.body.metadata.continue}`);
  const rest = await list(`limit=1&continue=${expired.body.metadata.continue}`);
  expect(names(rest.body)).toEqual(['e']);
  const older = Number(first.body.metadata.resourceVersion);
  expect(Number(rest.body.metadata.resourceVersion), 'the compaction increases the version once').toBe(older + 1);
});

test('an exact version shows the state of that version', async () => {
  const { body } = await list('');
  await setup.client.send('DELETE', `${PATH}/a`);
  const past = await list(`resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=Exact`);
  expect(names(past.body)).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(names((await list('')).body)).toEqual(['b', 'c', 'd', 'e']);
});

const token = (of: object): string => Buffer.from(JSON.stringify(of)).toString('base64url');

test.each([
  ['continue=%00', 'continue key is not valid'],
  [`continue=${token({})}`, 'server does not recognize this encoded version'],
  [`continue=${token({ v: 'meta.k8s.io/v1' })}`, 'incorrect encoded start resourceVersion (version meta.k8s.io/v1)'],
  [`continue=${token({ v: 'meta.k8s.io/v1', rv: 1 })}`, 'encoded start key empty (version meta.k8s.io/v1)'],
  [`continue=${token({ v: 'meta.k8s.io/v1', rv: 1, start: '../secrets/x' })}`, 'is not valid: ../secrets/x'],
  [`continue=${token({ v: 1 })}`, 'number into Go struct field continueToken.v of type string'],
  [`continue=${token({ v: 'meta.k8s.io/v1', rv: '1' })}`, 'string into Go struct field continueToken.rv of type int64'],
  [
    `continue=${token({ v: 'meta.k8s.io/v1', rv: 1.5 })}`,
    'number 1.5 into Go struct field continueToken.rv of type int64',
  ],
  [
    `continue=${token({ v: 'meta.k8s.io/v1', rv: 1, start: ['/b'] })}`,
    'array into Go struct field continueToken.start of type string',
  ],
  [`continue=${token([])}`, 'array into Go value of type storage.continueToken'],
  ['limit=x', 'strconv.ParseInt'],
  ['labelSelector=a%20b', 'unable to parse requirement'],
  ['fieldSelector=data.k%3Dv', 'is not a known field selector'],
])('%s is refused', async (query, message) => {
  const { status, body } = await list(query);
  expect(status).toBe(400);
  expect(body.message).toContain(message);
});

test.each<[query: string, causes: readonly string[]]>([
  ['continue=abc', ['resourceVersionMatch is forbidden when continue is provided']],
  [
    'resourceVersionMatch=Exact&resourceVersion=1',
    [
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      'Unsupported value: "Exact": supported values: "NotOlderThan"',
    ],
  ],
])('a watch with %s is refused', async (query, causes) => {
  const { status, body } = await setup.client.send('GET', `/api/v1/configmaps?watch=1&${query}`);
  const reported = body.details?.causes ?? [];
  expect(status).toBe(422);
  expect(reported.map(({ field }) => field)).toEqual(causes.map(() => 'resourceVersionMatch'));
  expect(reported.map(({ message }) => message.replace('Forbidden: ', ''))).toEqual(causes);
});
