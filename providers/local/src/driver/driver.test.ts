import { gzipSync } from 'node:zlib';
import type { MachineClass } from '@mcm/api';
import { type InterruptionNotice, MachineError, type NoticeAnswer } from '@mcm/core/driver';
import { handlerTransport, silentLogger, type Transport } from '@mcm/kube';
import { describe, expect, test } from 'vitest';
import { MemoryStore } from '../cloud/store/memory-store.ts';
import { formatProviderId, instanceIdOf } from '../spec/provider-id.ts';
import { LocalProviderSpec } from '../spec/schemas.ts';
import { type CloudRig, cloudRig } from '../testing/cloud-rig.ts';
import { createLocalDriver, type LocalDriver } from './driver.ts';

type CreateRequest = Parameters<LocalDriver['create']>[0];

const stored = { namespace: 'default', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const machineClass: MachineClass = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: { ...stored, name: 'small', uid: 'uid-small' },
  provider: 'local',
  providerSpec: { image: 'linux' },
};

interface Rig extends CloudRig {
  readonly driver: LocalDriver;
  request(overrides?: { name?: string; providerID?: string; spec?: object; signal?: AbortSignal }): CreateRequest;
  /** Returns the value of the call, or the `MachineError` that it threw. */
  ending<T>(call: Promise<T>): Promise<T | MachineError>;
}

function rig(options: Parameters<typeof cloudRig>[0] = {}, wrap = (transport: Transport): Transport => transport): Rig {
  const cloud = cloudRig({ token: 'secret', ...options });
  const driver = createLocalDriver({
    clock: cloud.clock,
    connect: () => wrap(handlerTransport(cloud.cloud.fetch)),
    defaults: { endpoint: 'http://cloud', token: 'secret' },
  });
  const request: Rig['request'] = ({ name = 'm-1', providerID, spec = {}, signal } = {}) => ({
    machineClass,
    machine: {
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'Machine',
      metadata: { ...stored, name, uid: `uid-${name}` },
      spec: { class: { kind: 'MachineClass', name: 'small' }, ...(providerID === undefined ? {} : { providerID }) },
    },
    spec: LocalProviderSpec.parse({ image: 'linux', ...spec }),
    credentials: { userData: 'hello' },
    userData: Buffer.from('hello'),
    signal: signal ?? new AbortController().signal,
    log: silentLogger,
  });
  const ending: Rig['ending'] = async (call) => {
    let done = false;
    const settled = call
      .catch((error: unknown) => {
        if (error instanceof MachineError) return error;
        throw error;
      })
      .finally(() => {
        done = true;
      });
    await cloud.clock.runUntil(() => done, { maxMs: 3_600_000 });
    return settled;
  };
  return { ...cloud, driver, request, ending };
}

const instances = ({ cloud }: Rig) => [...cloud.instances.list()];
const code = (result: unknown) => (result instanceof MachineError ? result.code : result);

describe('create', () => {
  test('create starts an instance of the class, and answers when it runs', async () => {
    const r = rig({ latencies: { bootMs: 40_000 } });
    const started = r.clock.now().getTime();
    const spec = { machineType: 'small', zone: 'local-b', tags: { team: 'a' }, volumes: [{ sizeGi: 3 }] };
    const created = await r.ending(r.driver.create(r.request({ spec })));
    const [instance] = instances(r);
    expect(created).toEqual({
      providerId: `local:///local-b/${instance?.id}`,
      nodeName: 'm-1',
      addresses: [
        { type: 'InternalIP', address: instance?.privateIp },
        { type: 'Hostname', address: 'm-1' },
      ],
    });
    expect(instance).toMatchObject({
      state: 'running',
      clientToken: 'uid-m-1',
      machineType: 'small',
      userData: 'hello',
      tags: { team: 'a', 'machine-namespace': 'default' },
    });
    expect(r.clock.now().getTime() - started).toBe(40_000);
  });

  test('an empty value counts as absent', async () => {
    const empty = { machineType: '', instanceType: '', zone: '', tags: {}, volumes: [], bootLatency: '' };
    const r = rig({ latencies: { bootMs: 0 } });
    await r.ending(r.driver.create(r.request({ name: 'm-1' })));
    await r.ending(r.driver.create(r.request({ name: 'm-2', spec: empty })));
    const [without, with_] = instances(r).map(({ machineType, zone, tags, bootLatencyMs }) => ({
      machineType,
      zone,
      tags,
      bootLatencyMs,
    }));
    expect(with_).toEqual(without);
  });

  test('gzip-compressed user data arrives unchanged, and the instance boots with its text', async () => {
    const bodies: { readonly userDataBase64?: string }[] = [];
    const r = rig({}, (transport) => (request) => {
      if (request.body !== undefined) bodies.push(JSON.parse(request.body));
      return transport(request);
    });
    const userData = gzipSync('#cloud-config\n');
    await r.ending(r.driver.create({ ...r.request(), userData }));
    expect(bodies.map(({ userDataBase64 }) => userDataBase64)).toEqual([userData.toString('base64')]);
    expect(instances(r).map((each) => each.userData)).toEqual(['#cloud-config\n']);
  });

  test('a repeated creation finds the first instance', async () => {
    const r = rig();
    r.cloud.faults.order({ operation: 'instances.create', timeout: {}, effect: true, count: 1 });
    expect(code(await r.ending(r.driver.create(r.request())))).toBe('DeadlineExceeded');
    const second = await r.ending(r.driver.create(r.request()));
    const third = await r.ending(r.driver.create(r.request()));
    expect(second).toEqual(third);
    expect(instances(r)).toHaveLength(1);
  });

  test('an instance that ended instead of booting is reported', async () => {
    const r = rig({ latencies: { bootMs: 60_000 } });
    const call = r.ending(r.driver.create(r.request()));
    await r.clock.advance(1_000);
    for (const { id } of instances(r)) r.cloud.instances.terminate(id, 'host failure');
    expect(await call).toMatchObject({ code: 'Aborted', message: expect.stringContaining('host failure') });
  });

  test('a boot that does not end fails after ten minutes', async () => {
    const r = rig({ latencies: { bootMs: 3_600_000 } });
    expect(code(await r.ending(r.driver.create(r.request())))).toBe('DeadlineExceeded');
    expect(instances(r)).toHaveLength(1);
  });

  test.each([
    ['InternalError', 'Unavailable'],
    ['RequestLimitExceeded', 'Unavailable'],
    ['InsufficientCapacity', 'ResourceExhausted'],
    ['QuotaExceeded', 'ResourceExhausted'],
    ['InvalidParameter', 'InvalidArgument'],
    ['PermissionDenied', 'PermissionDenied'],
    ['NeverHeardOf', 'Unavailable'],
  ])('the cloud’s %s is %s', async (error, expected) => {
    const r = rig();
    r.cloud.faults.order({ operation: 'instances.create', error: { code: error, retryAfterSeconds: 9 } });
    const thrown = await r.ending(r.driver.create(r.request()));
    expect(thrown).toMatchObject({ code: expected, retryAfterMs: 9_000 });
    expect((thrown as MachineError).message).toContain(error);
  });

  test('a field that the cloud refuses is reported by name', async () => {
    const r = rig();
    const thrown = await r.ending(r.driver.create(r.request({ spec: { zone: 'moon' } })));
    expect(thrown).toMatchObject({ code: 'InvalidArgument', message: expect.stringContaining('zone: "moon"') });
  });

  test('create stops at once with its signal', async () => {
    const r = rig({ latencies: { bootMs: 60_000 } });
    const abort = new AbortController();
    const call = r.driver.create(r.request({ signal: abort.signal }));
    const outcome = call.catch((error: unknown) => error);
    await r.clock.advance(1_000);
    abort.abort();
    expect(code(await outcome)).toBe('Canceled');
    const late = new AbortController();
    const second = r.driver.create(r.request({ signal: late.signal })).catch((error: unknown) => error);
    await r.clock.advance(1_000);
    late.abort(new DOMException('over', 'TimeoutError'));
    expect(code(await second)).toBe('DeadlineExceeded');
  });
});

describe('status', () => {
  test('status finds the instance of the machine with and without a provider ID', async () => {
    const r = rig();
    const created = await r.ending(r.driver.create(r.request()));
    const { providerId } = created as { providerId: string };
    expect(await r.ending(r.driver.status?.(r.request()) ?? Promise.reject())).toMatchObject(created as object);
    expect(await r.ending(r.driver.status?.(r.request({ providerID: providerId })) ?? Promise.reject())).toMatchObject(
      created as object,
    );
  });

  test('before the creation, one look-up is sufficient to report that there is no instance', async () => {
    const r = rig();
    const started = r.clock.now().getTime();
    expect(code(await r.ending(r.driver.status?.(r.request()) ?? Promise.reject()))).toBe('NotFound');
    expect([r.clock.now().getTime() - started, r.cloud.requests.counters['instances.list']?.total]).toEqual([0, 1]);
  });

  test('an outdated read does not count as absence', async () => {
    const r = rig();
    const { providerId } = (await r.ending(r.driver.create(r.request()))) as { providerId: string };
    r.cloud.faults.order({ operation: 'instances.get', stale: 1_500 });
    const status = await r.ending(r.driver.status?.(r.request({ providerID: providerId })) ?? Promise.reject());
    expect(status).toMatchObject({ providerId });
  });

  test('a missing instance, an unreachable cloud and an invalid answer are distinguished', async () => {
    const gone = rig();
    const providerID = formatProviderId({ zone: 'local-a', id: 'i-0123' });
    expect(code(await gone.ending(gone.driver.status?.(gone.request({ providerID })) ?? Promise.reject()))).toBe(
      'NotFound',
    );
    const down = rig({}, () => () => Promise.reject(new Error('connect ECONNREFUSED')));
    const unreachable = await down.ending(down.driver.status?.(down.request({ providerID })) ?? Promise.reject());
    expect(unreachable).toMatchObject({ code: 'Unavailable', message: expect.stringContaining('ECONNREFUSED') });
    const proxy = rig({}, () => async () => new Response('<html>no such page</html>', { status: 404 }));
    expect(code(await proxy.ending(proxy.driver.status?.(proxy.request({ providerID })) ?? Promise.reject()))).toBe(
      'Internal',
    );
    const odd = rig();
    const foreign = await odd.ending(
      odd.driver.status?.(odd.request({ providerID: 'aws:///eu/i-1' })) ?? Promise.reject(),
    );
    expect(foreign).toMatchObject({ code: 'InvalidArgument', message: expect.stringContaining('spec.providerID') });
  });
});

describe('delete', () => {
  test('delete resolves when the instance is terminated, not before', async () => {
    const r = rig({ latencies: { shutdownMs: 70_000 } });
    const { providerId } = (await r.ending(r.driver.create(r.request()))) as { providerId: string };
    const started = r.clock.now().getTime();
    expect(await r.ending(r.driver.delete(r.request({ providerID: providerId })))).toBeUndefined();
    expect([r.clock.now().getTime() - started, instances(r)[0]?.state]).toEqual([70_000, 'terminated']);
    expect(r.cloud.requests.counters['instances.delete']?.total).toBe(3);
  });

  test('the deletion of a missing instance succeeds', async () => {
    const r = rig();
    const { providerId } = (await r.ending(r.driver.create(r.request()))) as { providerId: string };
    await r.ending(r.driver.delete(r.request({ providerID: providerId })));
    expect(await r.ending(r.driver.delete(r.request({ providerID: providerId })))).toBeUndefined();
    expect(await r.ending(r.driver.delete(r.request({ name: 'never-made' })))).toBeUndefined();
  });

  test('delete finds an instance whose creation answer was lost, though listings are delayed', async () => {
    const r = rig();
    r.cloud.faults.order({ operation: 'instances.create', timeout: { after: 10 }, effect: true, count: 1 });
    r.cloud.faults.order({ operation: 'instances.list', stale: 1_500 });
    await r.ending(r.driver.create(r.request()));
    await r.ending(r.driver.delete(r.request()));
    expect(instances(r).map(({ state }) => state)).toEqual(['terminated']);
  });

  test('a machine that does not end is reported after ten minutes', async () => {
    const r = rig({ latencies: { shutdownMs: 3_600_000 } });
    const { providerId } = (await r.ending(r.driver.create(r.request()))) as { providerId: string };
    expect(code(await r.ending(r.driver.delete(r.request({ providerID: providerId }))))).toBe('DeadlineExceeded');
  });
});

describe('list', () => {
  test('list returns the instances of the class over all pages', async () => {
    const r = rig();
    const spec = { tags: { 'kubernetes.io/cluster/a': '1', 'kubernetes.io/role/node': '1', unrelated: 'x' } };
    for (const name of ['m-1', 'm-2', 'm-3']) await r.ending(r.driver.create(r.request({ name, spec })));
    await r.ending(r.driver.create(r.request({ name: 'other', spec: { tags: { 'kubernetes.io/cluster/b': '1' } } })));
    await r.launch({ name: 'by-hand', tags: { 'kubernetes.io/cluster/a': '1', 'kubernetes.io/role/node': '1' } });
    const listed = await (r.driver.list?.(r.request({ spec })) ?? Promise.reject());
    expect(listed.map(({ machineName }) => machineName).sort()).toEqual(['by-hand', 'm-1', 'm-2', 'm-3']);
    for (const { providerId, machineName } of listed) {
      const status = await r.ending(r.driver.status?.(r.request({ providerID: providerId })) ?? Promise.reject());
      expect(status).toMatchObject({ providerId, nodeName: machineName });
    }
  });

  test('without ownership tags, list returns the instances of its namespace only', async () => {
    const r = rig();
    await r.ending(r.driver.create(r.request()));
    await r.launch({ name: 'stranger', tags: { 'machine-namespace': 'elsewhere' } });
    const listed = await (r.driver.list?.(r.request()) ?? Promise.reject());
    expect(listed).toEqual([expect.objectContaining({ machineName: 'm-1', createdAt: '2026-01-01T00:00:00.000Z' })]);
  });
});

test('a class of another provider is refused', () => {
  const { driver } = rig();
  const aws = { ...machineClass, provider: 'AWS' };
  expect(() => driver.decode?.({ call: 'create', machineClass: aws, data: { userData: '' } })).toThrow(/"AWS"/);
});

test('endpoint and token of a Secret take precedence', async () => {
  const endpoints: string[] = [];
  const r = rig();
  const driver = createLocalDriver({
    clock: r.clock,
    connect: (endpoint) => {
      endpoints.push(endpoint);
      return handlerTransport(r.cloud.fetch);
    },
    defaults: { endpoint: 'http://default', token: 'secret' },
  });
  const credentials = { userData: '', endpoint: 'http://own:1/', token: 'wrong' };
  const thrown = await r.ending(driver.create({ ...r.request(), credentials }));
  expect([code(thrown), endpoints]).toEqual(['Unauthenticated', ['http://own:1']]);
  const nowhere = createLocalDriver({ clock: r.clock, connect: () => handlerTransport(r.cloud.fetch) });
  expect(() => nowhere.decode?.({ call: 'create', machineClass, data: { userData: '' } })).toThrow(
    /data\.endpoint: is missing, and MCM_LOCAL_CLOUD_ENDPOINT is not set/,
  );
});

test.each<[object, RegExp | undefined]>([
  [
    { image: 'registry/node:v1', namespace: 'x', ipPoolNameV4: 'pool', apiVersion: 'mcm.gardener.cloud/v1alpha1' },
    undefined,
  ],
  [{}, /"image"/],
  [{ image: '' }, /must not be empty/],
  [{ image: 'x', bootLatency: 'soon' }, /must be a duration/],
  [{ image: 'x', volumes: [{ sizeGi: 1.5 }] }, /sizeGi/],
])('provider spec %j', (spec, problem) => {
  const parsed = LocalProviderSpec.safeParse(spec);
  expect(parsed.success).toBe(problem === undefined);
  if (problem) expect(parsed.error?.message).toMatch(problem);
});

test('provider ids', () => {
  expect(instanceIdOf(formatProviderId({ zone: 'z', id: 'i-1' }))).toBe('i-1');
  for (const foreign of ['', 'local:///z', 'local:///z/i/x', 'aws:///z/i-1', 'local://z/i-1', 'machine-foo'])
    expect(instanceIdOf(foreign)).toBeUndefined();
});

test('volumes are identified by their CSI handle', () => {
  const { driver } = rig();
  const ids = driver.volumeIds?.([{ csi: { driver: 'd', volumeHandle: 'vol-1' } }, { hostPath: { path: '/x' } }]);
  expect(ids).toEqual(['vol-1', undefined]);
});

describe('watchInterruptions', () => {
  const watched = async (r: Rig, answer: NoticeAnswer): Promise<readonly InterruptionNotice[]> => {
    const notices: InterruptionNotice[] = [];
    const notify = async (notice: InterruptionNotice): Promise<NoticeAnswer> => {
      notices.push(notice);
      return answer;
    };
    await r.driver.watchInterruptions?.({ ...r.request(), notify });
    return notices;
  };
  const told = async (r: Rig, answer: NoticeAnswer = 'done'): Promise<readonly InterruptionNotice[]> => {
    const heard = await r.ending(watched(r, answer));
    if (heard instanceof MachineError) throw heard;
    return heard;
  };

  test('watchInterruptions reports a notice until it is answered with done, and the VM ends at the deadline', async () => {
    const r = rig();
    await r.ending(r.driver.create(r.request()));
    const [vm] = instances(r);
    await r.call('POST', `/v1/instances/${vm?.id}/interrupt`, { notice: '2m' });
    const [notice] = await told(r, 'later');
    expect(notice).toMatchObject({
      kind: 'Terminate',
      providerId: formatProviderId({ zone: 'local-a', id: vm?.id ?? '' }),
    });
    expect(Date.parse(notice?.deadline ?? '') - Date.parse(notice?.noticedAt ?? '')).toBe(120_000);
    expect(await told(r)).toEqual([notice]);
    expect(await told(r)).toEqual([]);
    await r.clock.advance(120_000);
    expect(instances(r)[0]).toMatchObject({ state: 'terminated', stateReason: 'the cloud needs the capacity' });
  });

  test('watchInterruptions receives no notices for VMs of another namespace', async () => {
    const r = rig();
    const tags = { 'machine-namespace': 'other' };
    const { id } = await r.launch({ name: 'foreign', tags });
    await r.call('POST', `/v1/instances/${id}/interrupt`, {});
    expect(await told(r)).toEqual([]);
    expect((await r.call('GET', '/v1/interruptions')).body.items).toHaveLength(1);
  });

  test('a wait can start before its notice, and a restarted cloud keeps both', async () => {
    const store = new MemoryStore();
    const first = rig({ store });
    await first.ending(first.driver.create(first.request()));
    const waits = watched(first, 'done');
    await first.clock.settle();
    const [vm] = instances(first);
    await first.call('POST', `/v1/instances/${vm?.id}/interrupt`, { notice: '2m', kind: 'Maintenance' });
    expect(await waits).toMatchObject([{ kind: 'Maintenance' }]);
    await first.call('POST', `/v1/instances/${vm?.id}/interrupt`, { notice: '2m' });
    first.cloud.pause();
    const second = rig({ store, clock: first.clock });
    expect(await told(second)).toMatchObject([{ kind: 'Terminate' }]);
    await second.clock.advance(120_000);
    expect(instances(second)[0]?.state).toBe('terminated');
  });
});
