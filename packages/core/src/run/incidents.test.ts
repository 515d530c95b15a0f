import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { nodes, pods, type Transport, VirtualClock } from '@mcm/kube';
import { afterEach, expect, test } from 'vitest';
import { MachineError } from '../driver/errors.ts';
import { NAMESPACE, Rig, type RigOptions } from './testing.ts';

/** Incidents of the field, played again over the server. The numbers are those of the incident sheet. */

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0)) await clean();
});

async function started(options: Partial<RigOptions> = {}): Promise<Rig> {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  const rig = new Rig({ clock, plane, ...options });
  cleanUp.push(async () => {
    await rig.kill();
    await plane.close();
  });
  await rig.createClass();
  rig.start();
  return rig;
}

const HOUR = 3_600_000;

/** A way to the server that can be cut; `only` says which requests a cut concerns. */
function cuttable(only: (path: string) => boolean) {
  let cut = false;
  const wrap =
    (transport: Transport): Transport =>
    (request) =>
      cut && only(request.path) ? Promise.reject(new TypeError('connection refused')) : transport(request);
  return {
    wrap,
    set: (value: boolean) => {
      cut = value;
    },
  };
}

test.each<[what: string, only: (path: string) => boolean]>([
  ['the whole server is away', () => true],
  ['only machines cannot be listed', (path) => path.includes('/machines')],
])('incident 15: restarted while %s, the safety controller takes no healthy VM for an orphan', async (_what, only) => {
  const { wrap, set } = cuttable(only);
  const rig = await started({ wrap });
  for (let i = 0; i < 5; i++) await rig.createMachine(`m-${i}`);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  const before = rig.cloud.vms.map(({ providerId }) => providerId);
  await rig.kill();
  const orphan = rig.cloud.plant('nobody', rig.clock.now().toISOString());
  set(true);
  rig.start();
  await rig.clock.advance(3 * HOUR);
  expect(rig.cloud.calls.delete).toBe(0);
  set(false);
  // The collector works: it is the evidence that it waited for.
  await rig.until(async () => !rig.cloud.vms.includes(orphan), 3 * HOUR);
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms.map(({ providerId }) => providerId)).toEqual(before);
  expect((await rig.machines()).map((m) => m.status?.currentStatus?.phase)).toEqual(before.map(() => 'Running'));
});

test('incident 17: a VM that gets the name of a Node just deleted does not join by way of that Node', async () => {
  const name = 'ip-10-0-0-1';
  const rig = await started({ cloud: { nodeName: () => name }, joinAfterMs: undefined });
  const vmOf = (machine: string) => {
    const vm = rig.cloud.vms.find(({ machineName }) => machineName === machine);
    if (!vm) throw new Error(`machine ${machine} has no VM`);
    return vm;
  };
  const hold = (finalizers: string[] | null): Promise<unknown> =>
    rig.admin.resource(nodes).patch(name, { type: 'merge', body: { metadata: { finalizers } } });
  const joins = async (machine: string): Promise<void> => {
    await rig.until(async () => (await rig.phase(machine)) === 'Pending');
    await rig.join(vmOf(machine));
    await rig.until(async () => (await rig.phase(machine)) === 'Running');
  };

  await rig.createMachine('old');
  await joins('old');
  await hold(['example.com/slow', 'node.machine.sapcloud.io/machine-controller']);
  await rig.deleteMachine('old');
  await rig.until(async () => (await rig.machines()).length === 0);
  expect((await rig.nodes())[0]?.metadata.deletionTimestamp).toBeDefined();

  await rig.createMachine('new');
  await rig.until(async () => (await rig.phase('new')) === 'Failed');
  expect(await rig.description('new')).toBe('VM using old node obj');
  expect(rig.cloud.vms).toEqual([]);
  await rig.clock.advance(HOUR);
  expect(await rig.phase('new')).toBe('Failed');

  await hold(null);
  await rig.until(async () => (await rig.nodes()).length === 0);
  await rig.createMachine('next');
  await joins('next');
  expect((await rig.nodes())[0]?.spec.providerID).toBe(vmOf('next').providerId);
});

/** A way to the server on which the Nodes of the past are not told: the list is empty, the watch is silent. */
function blindToNodes() {
  let blind = false;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      if (!blind || !request.path.startsWith('/api/v1/nodes?')) return transport(request);
      if (request.path.includes('watch=')) {
        return new Promise((_, reject) =>
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
        );
      }
      return new Response('{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}');
    };
  return {
    wrap,
    set: (value: boolean) => {
      blind = value;
    },
  };
}

test('a machine whose Node the cache has not yet heard of is drained all the same, before its VM goes', async () => {
  const { wrap, set } = blindToNodes();
  const rig = await started({ wrap });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.createPod('web', 'm-0');
  await rig.kill();
  await rig.deleteMachine('m-0');
  set(true);
  rig.start();
  await rig.clock.advance(20_000);
  expect(rig.cloud.vms).toHaveLength(1);
  const [pod] = (await rig.admin.resource(pods, NAMESPACE).list()).items;
  expect(pod?.metadata.deletionTimestamp).toBeDefined();
  expect((await rig.nodes())[0]?.spec.unschedulable).toBe(true);
  await rig.admin.resource(pods, NAMESPACE).delete('web', { gracePeriodSeconds: 0 });
  await rig.until(async () => (await rig.machines()).length === 0);
  expect(rig.cloud.vms).toEqual([]);
  expect(await rig.nodes()).toEqual([]);
});

test('incident 23: forty machines short of capacity ask the cloud one at a time, more and more rarely, and tell the same', async () => {
  let short = true;
  const rig = await started({
    cloud: {
      gate: (method, point) => {
        if (method === 'create' && point === 'before' && short) throw new MachineError('ResourceExhausted', 'no cores');
      },
    },
  });
  const spec = { creationTimeout: '5h' };
  await rig.createMachine('first', spec);
  await rig.until(async () => (await rig.phase('first')) === 'CrashLoopBackOff');
  for (let i = 0; i < 39; i++) await rig.createMachine(`m-${i}`, i === 0 ? {} : spec);
  const elsewhere = { metadata: { labels: { 'topology.kubernetes.io/zone': 'z2' } } };
  await rig.until(async () =>
    (await rig.machines()).every((m) => m.status?.lastOperation?.errorCode === 'ResourceExhausted'),
  );
  expect(rig.cloud.calls.create).toBe(1);
  await rig.clock.advance(2 * HOUR);
  // At 10, 30 and some, and then every 30 to 36 minutes, whoever asks.
  expect(rig.cloud.calls.create).toBeGreaterThanOrEqual(4);
  expect(rig.cloud.calls.create).toBeLessThanOrEqual(6);
  // The creation timeout of one that never asked counts as ever.
  expect(await rig.phase('m-0')).toBe('Failed');
  short = false;
  await rig.createMachine('other-zone', { nodeTemplate: elsewhere });
  await rig.until(async () => (await rig.phase('other-zone')) === 'Running', 60_000);
  expect(rig.cloud.vms).toHaveLength(1);
  await rig.until(async () =>
    (await rig.machines()).every((m) => m.metadata.name === 'm-0' || m.status?.currentStatus?.phase === 'Running'),
  );
  expect(rig.cloud.made).toHaveLength(40);
});
