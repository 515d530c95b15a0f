import { inspect } from 'node:util';
import { seededRandom, type TransportRequest, VirtualClock } from '@mcm/kube';
import { expect, test, vi } from 'vitest';
import { Arm, type CallOptions } from './client.ts';
import { ArmError } from './error.ts';
import { loadSdk } from './sdk.ts';

// The SDK is loaded before the test, because loading takes real time and the test uses a virtual clock.
await loadSdk();

interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the cloud sends no response until the signal of the request aborts. */
  readonly hangs?: boolean;
}

const ENDPOINT = 'https://arm.example';
const OPERATION = '/subscriptions/s/operations/1?api-version=2020-01-01';

async function armOf(answers: readonly Answer[]) {
  const clock = new VirtualClock();
  const asked: TransportRequest[] = [];
  const origins = new Set<string>();
  const arm = new Arm({
    clock,
    random: seededRandom(1),
    endpoint: ENDPOINT,
    userAgent: 'test',
    authorize: async () => 'Bearer token',
    connect: (origin) => async (request) => {
      origins.add(origin);
      const { status, body, headers = {}, hangs } = answers[asked.push(request) - 1] ?? { status: 500 };
      const { signal: end } = request;
      if (hangs) await new Promise((_, reject) => end?.addEventListener('abort', () => reject(end.reason)));
      const text = body === undefined ? '' : JSON.stringify(body);
      return { status, headers: { get: (name) => headers[name] ?? null }, text: async () => text, body: null };
    },
  });
  const clients = arm.clients('s');
  const [compute, network] = [await clients.compute(), await clients.network()];
  const end = new AbortController();
  const { signal } = end;
  const read = (inTime: AbortSignal) =>
    arm.ask((options) => network.networkInterfaces.get('g', 'nic', options), inTime);
  const put = (options: CallOptions) => network.networkInterfaces.createOrUpdate('g', 'nic', {}, options);
  const limited = <T>(run: Promise<T>) => clock.ended(run, { maxMs: 600_000 });
  return {
    run: () => limited(arm.run(put, 600_000, signal, read)),
    patch: () => {
      const change = (options: CallOptions) => compute.virtualMachines.update('g', 'vm', {}, options);
      const readVm = (inTime: AbortSignal) =>
        arm.ask((options) => compute.virtualMachines.get('g', 'vm', options), inTime);
      return limited(arm.run(change, 600_000, signal, readVm));
    },
    makeVm: (customData: string) => {
      const vm = { location: 'l', osProfile: { customData } };
      const make = (options: CallOptions) => compute.virtualMachines.createOrUpdate('g', 'vm', vm, options);
      return limited(arm.run(make, 600_000, signal));
    },
    read: () => limited(read(signal)),
    followGone: () => limited(arm.followGone(read, 600_000, signal)),
    list: async () => {
      const graph = await clients.graph();
      return limited(arm.ask((options) => graph.resources({ query: 'Resources' }, options), signal));
    },
    abort: (reason: Error) => end.abort(reason),
    clock,
    origins,
    methods: () => asked.map(({ method }) => method),
    paths: () => asked.map(({ path }) => path),
  };
}

const of = (provisioningState?: string) => ({
  id: 'x',
  properties: provisioningState === undefined ? {} : { provisioningState },
});
const [READY, MAKING, UNTOLD] = [of('Succeeded'), of('Updating'), of()];
const operation = (more: Readonly<Record<string, string>> = {}) => ({
  'azure-asyncoperation': `${ENDPOINT}${OPERATION}`,
  ...more,
});

test.each<[what: string, answers: readonly Answer[], requests: readonly string[]]>([
  ['200 without a state is the end', [{ status: 200, body: UNTOLD }], ['PUT']],
  [
    '201 without a state is a beginning',
    [
      { status: 201, body: UNTOLD },
      { status: 200, body: READY },
    ],
    ['PUT', 'GET'],
  ],
  [
    'a resource without a state is ready',
    [
      { status: 201, body: UNTOLD },
      { status: 200, body: UNTOLD },
    ],
    ['PUT', 'GET'],
  ],
  ['200 without a body says nothing', [{ status: 200 }, { status: 200, body: READY }], ['PUT', 'GET']],
  [
    'for a change without an operation, the state of the resource is polled',
    [
      { status: 200, body: MAKING },
      { status: 200, body: MAKING },
      { status: 200, body: READY },
    ],
    ['PUT', 'GET', 'GET'],
  ],
  [
    'the Location of a created resource is not an operation',
    [
      { status: 201, body: MAKING, headers: { location: `${ENDPOINT}/nic` } },
      { status: 200, body: MAKING },
      { status: 200, body: READY },
    ],
    ['PUT', 'GET', 'GET'],
  ],
  [
    'the operation of a completed change is not polled',
    [
      { status: 200, body: READY, headers: operation() },
      { status: 200, body: READY },
    ],
    ['PUT', 'GET'],
  ],
  [
    'JSON is read whatever its content type says',
    [{ status: 200, body: READY, headers: { 'content-type': 'text/plain' } }],
    ['PUT'],
  ],
])('%s', async (_what, answers, requests) => {
  const { run, methods } = await armOf(answers);
  expect(await run()).toMatchObject({ id: 'x' });
  expect(methods()).toEqual(requests);
});

test('an operation is polled with its own path and version, and one without a status continues', async () => {
  const { run, paths } = await armOf([
    { status: 201, body: MAKING, headers: operation() },
    { status: 200, body: { resourceLocation: 'https://elsewhere.example/nic' } },
    { status: 200 },
    { status: 200, body: { status: 'Succeeded', resourceLocation: 'https://elsewhere.example/nic' } },
    { status: 200, body: READY },
  ]);
  expect(await run()).toMatchObject({ id: 'x', provisioningState: 'Succeeded' });
  expect(paths().slice(1, 4)).toEqual([OPERATION, OPERATION, OPERATION]);
  expect(paths()[4]).toMatch(/\/networkInterfaces\/nic\?api-version=2023-05-01$/);
});

test('a failed operation is reported with its error', async () => {
  const error = { code: 'ZonalAllocationFailed', message: 'no room' };
  const { run } = await armOf([
    { status: 201, body: MAKING, headers: operation() },
    { status: 200, body: { status: 'Failed', error } },
  ]);
  await expect(run()).rejects.toMatchObject({ name: 'ArmError', code: 'ZonalAllocationFailed', status: 200 });
});

test('a failed state without an operation is read again', async () => {
  const { run, methods } = await armOf([
    { status: 201, body: of('Failed') },
    { status: 200, body: of('Failed') },
  ]);
  await expect(run()).rejects.toBeInstanceOf(ArmError);
  expect(methods()).toEqual(['PUT', 'GET']);
});

test.each(['azure-asyncoperation', 'operation-location', 'location'])(
  'no token is sent to another host in %s',
  async (name) => {
    const { run, methods, origins } = await armOf([
      { status: 202, body: MAKING, headers: { [name]: 'https://elsewhere.example/operation' } },
    ]);
    await expect(run()).rejects.toThrow('refers to the address https://elsewhere.example, which mcm does not allow');
    expect(methods()).toEqual(['PUT']);
    expect([...origins]).toEqual([ENDPOINT]);
  },
);

test('a PATCH with an empty answer does not count as completed', async () => {
  const { patch, methods } = await armOf([
    { status: 200 },
    { status: 200, body: MAKING },
    { status: 200, body: READY },
  ]);
  expect(await patch()).toMatchObject({ id: 'x' });
  expect(methods()).toEqual(['PATCH', 'GET', 'GET']);
});

test('a PATCH that is only accepted is an error, because the answer contains no operation', async () => {
  const { patch, methods } = await armOf([
    { status: 202, body: MAKING },
    { status: 200, body: READY },
  ]);
  await expect(patch()).rejects.toMatchObject({ status: 202 });
  expect(methods()).toEqual(['PATCH']);
});

test('an error of the SDK is reported without the request, which contains the user data', async () => {
  const { makeVm } = await armOf([{ status: 204 }]);
  const thrown = await makeVm('secret-user-data').then(
    () => expect.fail('204 is no answer to a PUT'),
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(ArmError);
  expect(inspect(thrown, { depth: 20 })).not.toContain('secret-user-data');
});

test.each<[what: string, body: object | undefined]>([
  ['nothing', undefined],
  ['a list', []],
])('%s is neither a resource nor a listing', async (_what, body) => {
  const answer = { status: 200, ...(body ? { body } : {}) };
  const { read, list } = await armOf([answer, answer]);
  await expect(read()).rejects.toBeInstanceOf(ArmError);
  await expect(list()).rejects.toBeInstanceOf(ArmError);
});

test.each<[where: string, second: Answer]>([
  ['in a pause', { status: 200, body: { status: 'InProgress' }, headers: { 'retry-after': '120' } }],
  ['in a request', { status: 200, hangs: true }],
])('a call ends with the reason of its signal %s, and the SDK sets no timer', async (_where, second) => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  try {
    const { run, abort, clock, methods } = await armOf([{ status: 201, body: MAKING, headers: operation() }, second]);
    const reason = new Error('the process stops');
    clock.setTimeout(() => abort(reason), 60_000);
    await expect(run()).rejects.toBe(reason);
    expect(methods()).toEqual(['PUT', 'GET']);
    expect(timers).not.toHaveBeenCalled();
  } finally {
    timers.mockRestore();
  }
});

test('a deletion by another call has ended only after a 404 with a code of Azure', async () => {
  const deleting = { status: 200, body: of('Deleting') };
  const gone = await armOf([deleting, { status: 404, body: { error: { code: 'ResourceNotFound' } } }]);
  expect(await gone.followGone()).toBe(true);
  const behindProxy = await armOf([deleting, { status: 404 }]);
  await expect(behindProxy.followGone()).rejects.toThrow('404 without a code');
});
