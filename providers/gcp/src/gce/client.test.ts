import { inspect } from 'node:util';
import { type TransportRequest, VirtualClock } from '@mcm/kube';
import { expect, test, vi } from 'vitest';
import { Gce } from './client.ts';
import { Refusal } from './refusal.ts';

const { signal } = new AbortController();
const INSTANCES = '/compute/v1/projects/p/zones/z/instances';
const ID = '01234567-89ab-4cde-8f01-23456789abcd';

interface Answer {
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function gceOf(...answers: readonly Answer[]) {
  const asked: TransportRequest[] = [];
  const clock = new VirtualClock();
  const gce = new Gce({
    clock,
    endpoint: 'https://compute.example',
    userAgent: 'test',
    authorize: async () => 'Bearer token',
    connect: () => async (request) => {
      const { status = 200, body, headers = {} } = answers[asked.push(request) - 1] ?? { status: 500, body: {} };
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return { status, headers: { get: (name) => headers[name] ?? null }, text: async () => text, body: null };
    },
  });
  return { gce, asked, clock };
}

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  );

const STARTED = { name: 'operation-1', status: 'RUNNING' };

test('the body and the request ID are sent as the driver has set them', async () => {
  const { gce, asked } = gceOf({ body: STARTED });
  const body = {
    name: 'm',
    labels: {},
    disks: [{ boot: true, autoDelete: false, initializeParams: { diskSizeGb: '50', labels: { a: 'b' } } }],
    scheduling: { preemptible: false },
    metadata: { items: [{ key: 'user-data', value: 'x' }] },
  };
  expect(await gce.insert('p', 'z', body, ID, signal)).toMatchObject(STARTED);
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([`POST ${INSTANCES}?requestId=${ID}`]);
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual(body);
});

test('only the needed fields of a page are read, and invalid labels do not fail the listing', async () => {
  const huge = { disks: [{ kind: 'compute#attachedDisk' }], machineType: 'x', unknownField: { a: 1 } };
  const { gce, asked } = gceOf(
    { body: { items: [{ name: 'a', labels: { x: 'y' }, ...huge }], nextPageToken: 'a/b+c=&#d' } },
    { body: { items: [{ name: 'b', labels: { x: { y: 1 } }, status: 'STOPPING', tags: { items: ['t'] } }] } },
    { body: { kind: 'compute#instanceList' } },
  );
  const found = await gce.list('p', 'z', signal);
  expect(found).toMatchObject([
    { name: 'a', labels: { x: 'y' } },
    { name: 'b', status: 'STOPPING', tags: { items: ['t'] } },
  ]);
  expect(Object.keys(found[1]?.labels ?? {})).toEqual([]);
  expect(asked[0]?.path).toBe(INSTANCES);
  const again = new URL(asked[1]?.path ?? '', 'https://compute.example');
  expect([...again.searchParams]).toEqual([['pageToken', 'a/b+c=&#d']]);
  expect(await gce.list('p', 'z', signal)).toEqual([]);
});

test('null members of an answer count as absent', async () => {
  const tags = { items: null };
  const { gce } = gceOf(
    { body: { items: [{ name: 'a', status: null, tags }], nextPageToken: null } },
    { body: { name: 'o', status: 'DONE', error: { errors: [{ code: 'X', message: null }] } } },
    { body: { name: 'o', status: 'DONE', error: null } },
  );
  expect(await gce.list('p', 'z', signal)).toMatchObject([{ name: 'a' }]);
  expect((await gce.operation('p', 'z', 'o', signal)).error?.errors?.[0]?.code).toBe('X');
  expect((await gce.operation('p', 'z', 'o', signal)).error ?? undefined).toBeUndefined();
});

test('an error keeps its reason and its pause, which the SDK drops', async () => {
  const error = { code: 403, message: 'no', errors: [{ reason: 'forbidden' }] };
  const { gce } = gceOf({ status: 403, body: { error }, headers: { 'retry-after': '7' } });
  const thrown = await thrownBy(gce.get('p', 'z', 'm', signal));
  expect(thrown).toBeInstanceOf(Refusal);
  expect(thrown).toMatchObject({ status: 403, reasons: ['forbidden'], retryAfterMs: 7_000 });
});

test.each<[what: string, body: unknown]>([
  ['a page', '<html>sign in</html>'],
  ['nothing', ''],
  ['a list', []],
  ['null', null],
  ['instances that are none', { items: 'none' }],
])('%s is not a listing', async (_what, body) => {
  await expect(gceOf({ body }).gce.list('p', 'z', signal)).rejects.toThrow('not from Compute Engine');
});

test('an operation without a name is not an operation', async () => {
  const { gce } = gceOf({ body: { status: 'DONE' } });
  await expect(gce.delete('p', 'z', 'm', ID, signal)).rejects.toThrow();
});

test('an error of the SDK is reported without the request, which contains the user data', async () => {
  const { gce, asked } = gceOf({ body: STARTED });
  const body = { metadata: 'secret-user-data' };
  const thrown = await thrownBy(gce.insert('p', 'z', body, ID, signal));
  expect(inspect(thrown, { depth: 20 })).not.toContain('secret-user-data');
  expect(thrown).toMatchObject({ name: 'SdkFailed' });
  expect(asked).toEqual([]);
});

test('the SDK sets no timer, repeats no request and opens no connection', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const ends = vi.spyOn(AbortSignal, 'timeout');
  const fetches = vi.spyOn(globalThis, 'fetch');
  try {
    const { gce, asked } = gceOf({ status: 503, body: { error: { code: 503, message: 'later' } } }, { body: STARTED });
    await expect(gce.operation('p', 'z', 'operation-1', signal)).rejects.toBeInstanceOf(Refusal);
    expect(asked).toHaveLength(1);
    expect(await gce.operation('p', 'z', 'operation-1', signal)).toMatchObject(STARTED);
    expect(timers).not.toHaveBeenCalled();
    expect(ends).not.toHaveBeenCalled();
    expect(fetches).not.toHaveBeenCalled();
  } finally {
    vi.restoreAllMocks();
  }
});

test('the signal of a call reaches its request', async () => {
  const { gce, asked } = gceOf({ body: STARTED });
  const own = new AbortController();
  await gce.operation('p', 'z', 'operation-1', own.signal);
  expect(asked[0]?.signal).toBe(own.signal);
});
