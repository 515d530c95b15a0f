import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { events, nodes, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

async function started(options: Partial<RigOptions> = {}): Promise<Rig> {
  return startRig({ eventTtlMs: 0, ...options });
}

const UNREACHABLE = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] as const;

async function forcedAway(rig: Rig, ...names: string[]): Promise<void> {
  for (const name of names) await rig.createMachine(name);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  await rig.clock.advance(30 * MINUTE);
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  await rig.kill();
  for (const name of names) {
    await rig.conditions(name, UNREACHABLE);
    await client.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
    rig.cloud.lose(name);
    await client.delete(name);
  }
  rig.start();
}

const nodeNames = async (rig: Rig): Promise<string[]> => (await rig.nodes()).map(({ metadata }) => metadata.name);

test('the Node of a removed machine is deleted once its VM is confirmed gone, on a second pass [incident 6]', async () => {
  const rig = await started();
  await rig.createMachine('stays');
  await forcedAway(rig, 'gone');
  const node = await rig.admin.resource(nodes).get('gone');
  expect(node.metadata.annotations?.[Annotations.MachineClassOfNode]).toBe(`${NAMESPACE}/small`);
  const took = await rig.until(async () => !(await nodeNames(rig)).includes('gone'), 2 * HOUR);
  expect(took).toBeGreaterThanOrEqual(ORPHAN_DEFAULTS.confirmAfterMs);
  await rig.clock.advance(2_000);
  expect(await nodeEvents(rig)).toEqual([
    'gone: Machine gone of the Node no longer exists, and no kubelet reports the status of the Node; mcm deleted the Node',
  ]);
  await rig.clock.advance(2 * HOUR);
  expect(await nodeNames(rig)).toEqual(['stays']);
  expect(await rig.phase('stays')).toBe('Running');
});

const nodeEvents = async (rig: Rig): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === 'OrphanNode')
    .map(({ involvedObject, message }) => `${involvedObject.name}: ${message}`);

test.each<
  [guard: string, options: Partial<RigOptions>, spoil: (rig: Rig) => Promise<unknown>, says: RegExp | undefined]
>([
  [
    'its VM exists, although no listing contains it',
    { cloud: { hides: () => true } },
    async (rig) => rig.cloud.plant('gone', undefined, 'fake:///zone/vm-0'),
    /mcm keeps the Node because its VM still exists/,
  ],
  [
    'the listing fails',
    {},
    async (rig) => rig.cloud.fail('list', ...Array(50).fill({ code: 'Unavailable' })),
    undefined,
  ],
  [
    'another class cannot be listed: its Secret is missing',
    {},
    async (rig) =>
      rig.admin.resource(machineClasses, NAMESPACE).create({
        metadata: { name: 'broken', namespace: NAMESPACE },
        providerSpec: {},
        secretRef: { name: 'nowhere', namespace: NAMESPACE },
      } as never),
    undefined,
  ],
  [
    'its kubelet reports again',
    {},
    async (rig) => rig.conditions('gone', [{ type: 'Ready', status: 'True' }]),
    undefined,
  ],
  [
    '--orphan-policy=report',
    { controller: { orphans: { ...ORPHAN_DEFAULTS, policy: 'report' } } },
    async () => undefined,
    /mcm keeps the object because of --orphan-policy=report/,
  ],
  [
    'a cap of none',
    { controller: { orphans: { ...ORPHAN_DEFAULTS, maxPerHour: 0 } } },
    async () => undefined,
    /the deletion of the (VM|Node) waits, because the limit/,
  ],
  [
    'it joined under another controller',
    {},
    async (rig) =>
      rig.admin.resource(nodes).patch('gone', {
        type: 'merge',
        body: { metadata: { annotations: { [Annotations.MachineClassOfNode]: 'elsewhere/small' } } },
      }),
    undefined,
  ],
])('the Node of a deleted machine is marked and not deleted: %s', async (_guard, options, spoil, says) => {
  const rig = await started(options);
  await forcedAway(rig, 'gone');
  await spoil(rig);
  await rig.clock.advance(3 * HOUR);
  expect(await nodeNames(rig)).toEqual(['gone']);
  const [node] = await rig.nodes();
  expect(node?.metadata.annotations?.[Annotations.NotManagedByMCM]).toBe('1');
  const reported = await nodeEvents(rig);
  expect(reported).toHaveLength(says ? 1 : 0);
  if (says) expect(reported[0]).toMatch(says);
});

async function deafAfterRestart(prepare: (rig: Rig) => Promise<void>): Promise<Rig> {
  let deaf = false;
  const silent = (signal: AbortSignal | undefined): Promise<Response> =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  const wrap =
    (transport: Transport): Transport =>
    (request) =>
      deaf && request.path.includes('/machines?') && request.path.includes('watch=')
        ? silent(request.signal)
        : transport(request);
  const rig = await started({ wrap });
  await prepare(rig);
  await rig.kill();
  deaf = true;
  rig.start();
  await rig.clock.advance(MINUTE);
  return rig;
}

/** The cache must not contain the machine of the test, so the test creates the machine shortly before the deletion. */
const SHORTLY_MS = 2_000;

test('a Node is not deleted if only the cache lacks its machine: mcm reads the server', async () => {
  const story = () => deafAfterRestart((each) => forcedAway(each, 'gone'));
  const other = await story();
  const took = await other.until(async () => (await nodeNames(other)).length === 0, 2 * HOUR);
  const rig = await story();
  await rig.clock.advance(took - SHORTLY_MS);
  await rig.createMachine('new', {}, { labels: { node: 'gone' } });
  await rig.clock.advance(2 * SHORTLY_MS);
  expect(await nodeNames(rig)).toEqual(['gone']);
  expect(
    rig.log.lines.some(({ message }) => message === 'Node without a machine kept: a machine claims the Node'),
  ).toBe(true);
});

test('a VM is not deleted while the server has its machine, even if the cache does not', async () => {
  // Another replica created a VM and a machine with the ID of the VM, and then crashed.
  const story = async () => {
    const rig = await deafAfterRestart(async () => undefined);
    const { providerId } = rig.cloud.plant('new', rig.clock.now().toISOString());
    const orphan = rig.cloud.plant('nobody', rig.clock.now().toISOString());
    return { rig, providerId, orphan };
  };
  const other = await story();
  const took = await other.rig.until(async () => !other.rig.cloud.vms.includes(other.orphan), 2 * HOUR);
  const { rig, providerId, orphan } = await story();
  await rig.clock.advance(took - SHORTLY_MS);
  await rig.createMachine('new', { providerID: providerId });
  const status = { currentStatus: { phase: 'Running', lastUpdateTime: rig.clock.now().toISOString() } };
  await rig.admin
    .resource<Machine>(machines, NAMESPACE)
    .patch('new', { type: 'merge', body: { status } }, { subresource: 'status' });
  await rig.clock.advance(2 * SHORTLY_MS);
  // The orphan collection deletes this VM. The deletion proves that the orphan collection has checked all VMs.
  expect(rig.cloud.vms).not.toContain(orphan);
  expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['new']);
});

test('mcm limits the deletions of orphaned Nodes per hour', async () => {
  const rig = await started({ controller: { orphans: { ...ORPHAN_DEFAULTS, maxPerHour: 1 } } });
  await forcedAway(rig, 'a', 'b', 'c');
  await rig.until(async () => (await nodeNames(rig)).length === 2, 2 * HOUR);
  await rig.clock.advance(50 * MINUTE);
  expect(await nodeNames(rig)).toHaveLength(2);
  await rig.until(async () => (await nodeNames(rig)).length === 0, 3 * HOUR);
});

test('an orphan VM is first reported, then deleted, with an event on its class, within the limit for each hour', async () => {
  const rig = await started({ controller: { orphans: { ...ORPHAN_DEFAULTS, maxPerHour: 2 } } });
  await rig.clock.advance(5 * MINUTE);
  const now = rig.clock.now().toISOString();
  for (const name of ['a', 'b', 'c']) rig.cloud.plant(name, now);
  await rig.until(async () => rig.cloud.vms.length === 1, HOUR);
  await rig.clock.advance(40 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(1);
  await rig.until(async () => rig.cloud.vms.length === 0, HOUR);
  await rig.clock.advance(MINUTE);
  const reported = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
    ({ reason }) => reason === 'OrphanVM',
  );
  expect(reported.map(({ involvedObject }) => [involvedObject.kind, involvedObject.name])).toContainEqual([
    'MachineClass',
    'small',
  ]);
  expect(reported.map(({ message }) => message).join('\n')).toMatch(
    /^VM \S+ is an orphan: its machine \S+ does not exist; mcm deletes the VM$/m,
  );
});

test('a cloud that ignores the signal of a list or a deletion delays its own class only', async () => {
  const forever = new Promise<never>(() => undefined);
  const rig = await started({
    cloud: { gate: (method, _point, name) => (method === 'delete' && name === 'deaf' ? forever : undefined) },
  });
  await rig.clock.advance(2 * MINUTE);
  const now = rig.clock.now().toISOString();
  rig.cloud.plant('deaf', now);
  await rig.clock.advance(40 * MINUTE);
  expect(rig.cloud.calls.delete).toBe(1);
  rig.cloud.plant('other', rig.clock.now().toISOString());
  await rig.until(async () => !rig.cloud.vms.some(({ machineName }) => machineName === 'other'), HOUR);
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.calls.delete).toBe(2);
  expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['deaf']);
});

test('a list that never ends is not started again, and other classes are listed', async () => {
  const forever = new Promise<never>(() => undefined);
  let first = true;
  const rig = await started({
    cloud: {
      gate: (method) => {
        if (method !== 'list' || !first) return undefined;
        first = false;
        return forever;
      },
    },
  });
  await rig.clock.advance(MINUTE + 1);
  expect(rig.cloud.calls.list).toBe(1);
  await rig.createClass('second');
  rig.cloud.plant('nobody', rig.clock.now().toISOString());
  await rig.until(async () => rig.cloud.vms.length === 0, HOUR);
  expect(rig.cloud.calls.list).toBeLessThanOrEqual(6);
});

test('a failed list is retried with growing waits', async () => {
  const rig = await started();
  rig.cloud.fail('list', ...Array(100).fill({ code: 'Unavailable' }));
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.calls.list).toBeGreaterThan(5);
  expect(rig.cloud.calls.list).toBeLessThan(15);
});

test('two classes of one cluster list the same VMs: an orphan is reported and counted once', async () => {
  const rig = await started({ controller: { orphans: { ...ORPHAN_DEFAULTS, policy: 'report' } } });
  await rig.createClass('second');
  await rig.clock.advance(MINUTE);
  rig.cloud.plant('nobody', rig.clock.now().toISOString());
  await rig.clock.advance(2 * HOUR);
  const reported = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
    ({ reason }) => reason === 'OrphanVM',
  );
  expect(reported).toHaveLength(1);
  expect(reported[0]?.count).toBe(1);
  expect(rig.controller?.suspects()).toEqual({ vms: 1, nodes: 0, quarantined: 0, stopped: 0 });
});

test.each([
  ['another class of the cluster', 'alpha'],
  ['the class of the event', 'small'],
])(
  'of two classes that list the same VMs, the one in the Node reports, and a release on %s acts at once',
  async (_what, on) => {
    const rig = await started();
    const client = rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);
    await rig.createClass('alpha');
    const names = ['m-0', 'm-1', 'm-2'];
    for (const name of names) await rig.createMachine(name);
    await rig.until(async () =>
      (await Promise.all(names.map((name) => rig.phase(name)))).every((one) => one === 'Running'),
    );
    await rig.clock.advance(2 * MINUTE);
    await rig.kill();
    const live = rig.admin.resource<Machine>(machines, NAMESPACE);
    for (const name of names) {
      await live.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
      await live.delete(name);
    }
    rig.start();
    const noted = () =>
      Promise.all(
        ['alpha', 'small'].map(async (name) => {
          const { annotations } = (await client.get(name)).metadata;
          return annotations?.[Annotations.QuarantinedVMs]?.split(',') ?? [];
        }),
      );
    await rig.until(async () => (await noted()).every((ids) => ids.length === 3), 2 * HOUR);
    await rig.clock.advance(2_000);
    const told = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
      ({ reason }) => reason === 'OrphanVM',
    );
    expect(told.map(({ involvedObject }) => involvedObject.name)).toEqual(['small', 'small', 'small']);

    const [vm] = rig.cloud.vms;
    const annotations = { [Annotations.ReleaseVMs]: vm?.providerId ?? '' };
    await client.patch(on, { type: 'merge', body: { metadata: { annotations } } });
    await rig.clock.advance(5_000);
    expect((await rig.admin.resource(nodes).get(vm?.nodeName ?? '')).spec.unschedulable).toBe(true);
    expect((await noted()).map((ids) => ids.length)).toEqual([2, 2]);
    await rig.until(async () => rig.cloud.vms.length === 2, 3 * MINUTE);
    await rig.until(
      async () => (await client.get(on)).metadata.annotations?.[Annotations.ReleaseVMs] === undefined,
      HOUR,
    );
    await rig.clock.advance(HOUR);
    expect([rig.cloud.vms.length, (await noted()).map((ids) => ids.length)]).toEqual([2, [2, 2]]);
  },
);

test('a class that cannot be listed reports it once, and its recovery once; a single failure is not reported', async () => {
  const rig = await started();
  const reported = async () =>
    (await rig.admin.resource(events, NAMESPACE).list()).items
      .filter(({ reason }) => reason?.startsWith('Listing'))
      .map(({ involvedObject, message, count }) => `${involvedObject.name} ${count}: ${message}`)
      .sort();
  rig.cloud.fail('list', { code: 'Unavailable' }, { code: 'Unavailable' });
  await rig.clock.advance(HOUR);
  expect(await reported()).toEqual([]);
  rig.cloud.fail('list', ...Array(20).fill({ code: 'Unauthenticated', message: 'keys revoked' }));
  await rig.clock.advance(2 * HOUR);
  expect(await reported()).toEqual([
    expect.stringMatching(
      /^small 1: mcm cannot search for orphans, because the list call of the class fails: keys revoked/,
    ),
  ]);
  await rig.clock.advance(6 * HOUR);
  expect(await reported()).toHaveLength(2);
  expect(await reported()).toContain('small 1: mcm can list the VMs of the class again');
});
