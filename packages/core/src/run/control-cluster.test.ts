import { crds, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createMemoryLogger,
  type Draft,
  type Fence,
  type KubeClient,
  type KubeObject,
  leases,
  type ResourceDefinition,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { afterEach, expect, test } from 'vitest';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { ControlCluster, FENCE_NAMESPACE, fenceName } from './control-cluster.ts';
import { NAMESPACE, Rig } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

/** After the move of a control plane, two control clusters can contain copies of the Machines of one target cluster. */

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

const MINUTE = 60_000;

type Plane = Awaited<ReturnType<typeof startControlPlane>>;

async function stage() {
  const clock = new VirtualClock();
  const open = async (): Promise<Plane> => {
    const plane = await startControlPlane({ clock, crds, controllers: false });
    cleanUp.push(() => plane.close());
    return plane;
  };
  const target = await open();
  const client = (plane: Plane, wrap: (transport: Transport) => Transport = (each) => each): KubeClient =>
    createClient({ transport: wrap(plane.transport), userAgent: 'test', clock, random: seededRandom(1) });
  const side = async (wrap?: (transport: Transport) => Transport, own: Fence | undefined = undefined, home?: Plane) => {
    const plane = home ?? (await open());
    const log = createMemoryLogger();
    const options = { control: client(plane), target: client(target, wrap), namespace: NAMESPACE, fence: own };
    const cluster = new ControlCluster({ ...options, clock, random: seededRandom(2), log });
    const stop = new AbortController();
    const state = { works: false, begun: 0, failed: undefined as unknown };
    const ended = cluster
      .run(stop.signal, async (signal) => {
        state.works = true;
        state.begun++;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        state.works = false;
      })
      .catch((error: unknown) => {
        state.failed = error;
      });
    cleanUp.push(() => {
      stop.abort();
      return ended;
    });
    return { plane, cluster, log, stop, state, ended };
  };
  return {
    clock,
    side,
    holder: async () =>
      (await client(target).resource(leases, FENCE_NAMESPACE).get(fenceName(NAMESPACE))).spec?.holderIdentity,
  };
}

function way() {
  const state = { cut: false, refuses: undefined as string | undefined };
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      if (state.cut) return Promise.reject(new TypeError('connection refused'));
      const refused = state.refuses !== undefined && request.path.includes(state.refuses);
      return refused
        ? Promise.resolve(new Response('{"kind":"Status","code":403,"reason":"Forbidden"}', { status: 403 }))
        : transport(request);
    };
  return { state, wrap };
}

test('of two control clusters with copies of the same machines one works, and the other waits for its end [incident 16]', async () => {
  const { clock, side, holder } = await stage();
  const old = await side();
  await clock.advance(MINUTE);
  expect(old.state.works).toBe(true);
  expect(await holder()).toBe(old.cluster.owner());
  const next = await side();
  await clock.advance(10 * MINUTE);
  expect([old.state.works, next.state.works]).toEqual([true, false]);
  expect(next.log.lines.filter(({ message }) => message.startsWith('Another control cluster manages'))).toHaveLength(1);
  old.stop.abort();
  await clock.advance(MINUTE);
  expect([old.state.works, next.state.works]).toEqual([false, true]);
  expect(await holder()).toBe(next.cluster.owner());
});

test('the side without access to the target cluster changes nothing in the cloud once the other works [incident 16]', async () => {
  const { clock, side } = await stage();
  const { state, wrap } = way();
  const old = await side(wrap);
  await clock.advance(MINUTE);
  const rig = new Rig({ clock, plane: old.plane, controller: { fence: old.cluster.fence, owner: old.cluster.owner } });
  cleanUp.push(() => rig.kill());
  await rig.createClass();
  rig.start();
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  state.cut = true;
  const next = await side();
  await clock.advance(5 * MINUTE);
  expect(next.state.works).toBe(true);
  expect(old.state).toMatchObject({ works: false, begun: 1 });
  expect(String(old.state.failed)).toContain(
    'the process lost Lease kube-system/machine-controller-default of the target cluster: the process could not renew the Lease for 40 s',
  );
  const { create, delete: deleted } = rig.cloud.calls;
  await rig.deleteMachine('m');
  await rig.createMachine('late');
  await clock.advance(5 * MINUTE);
  expect(rig.cloud.calls).toMatchObject({ create, delete: deleted });
  expect(await rig.description('late')).toContain(
    'create was not sent, because the process cannot confirm its leadership',
  );
});

test('a successor within one control cluster does not wait; without permission to read the Lease it works without it', async () => {
  const { clock, side, holder } = await stage();
  const { state, wrap } = way();
  const first = await side(wrap);
  await clock.advance(MINUTE);
  const owner = first.cluster.owner();
  state.cut = true;
  first.stop.abort();
  await clock.advance(1_000);
  expect(await holder()).toBe(owner);
  const other = way();
  other.state.refuses = '/leases';
  const unfenced = await side(other.wrap);
  await clock.advance(1_000);
  expect(unfenced.state.works).toBe(true);
  expect(unfenced.log.lines.some(({ message }) => message.includes('cannot detect other control clusters'))).toBe(true);
  await expect(unfenced.cluster.fence.confirm()).resolves.toBeUndefined();
});

test('a killed process (kill -9) leaves the Lease to its successor in the same control cluster, which starts at once', async () => {
  const { clock, side, holder } = await stage();
  const { state, wrap } = way();
  const first = await side(wrap);
  await clock.advance(MINUTE);
  state.cut = true;
  first.stop.abort();
  const next = await side(undefined, undefined, first.plane);
  await clock.advance(1_000);
  expect(next.state).toMatchObject({ works: true, begun: 1 });
  expect(await holder()).toBe(first.cluster.owner());
});

test('while it works it writes its Lease in the target cluster, at most every ten seconds, and nothing else', async () => {
  const { clock, side } = await stage();
  const writes: string[] = [];
  const { state } = await side((transport) => (request) => {
    if (request.method !== 'GET') writes.push(`${request.method} ${request.path.split('?')[0]}`);
    return transport(request);
  });
  await clock.advance(MINUTE);
  writes.length = 0;
  await clock.advance(10 * MINUTE);
  expect(state.works).toBe(true);
  expect(new Set(writes)).toEqual(
    new Set([`PUT /apis/coordination.k8s.io/v1/namespaces/${FENCE_NAMESPACE}/leases/${fenceName(NAMESPACE)}`]),
  );
  expect(writes.length).toBeLessThanOrEqual(60);
});

test('a control cluster that is created from a copy of the objects keeps every VM, and collects the old leftovers', async () => {
  const HOUR = 60 * MINUTE;
  const { rig: old } = await createRig({ controller: { owner: () => 'old' } });
  await old.createClass();
  old.start();
  for (const name of ['a', 'b', 'c']) await old.createMachine(name);
  await old.until(async () => (await old.machines()).every(({ status }) => status?.currentStatus?.phase === 'Running'));
  await old.kill();
  const vms = old.cloud.vms.map(({ machineName, providerId }) => ({ machineName, providerId }));
  old.cloud.plant('left', old.clock.now().toISOString(), undefined, 'old');

  const plane = await startControlPlane({ clock: old.clock, crds, controllers: false });
  const orphans = { ...ORPHAN_DEFAULTS, formerOwners: ['old'] };
  const next = new Rig({
    clock: old.clock,
    plane,
    sharedCloud: old.cloud,
    controller: { owner: () => 'new', orphans },
  });
  cleanUp.push(async () => {
    await next.kill();
    await plane.close();
  });
  // Copies an object as docs/how-to.md describes: without the status, the owners, and the fields that the server sets.
  const copy = async <T extends KubeObject>(definition: ResourceDefinition<T>): Promise<void> => {
    for (const { metadata, ...rest } of (await old.admin.resource(definition, NAMESPACE).list()).items) {
      const { name, namespace, labels, annotations, finalizers } = metadata;
      const draft = { ...rest, status: undefined, metadata: { name, namespace, labels, annotations, finalizers } };
      // TypeScript cannot derive the draft of a generic kind from its other fields.
      await next.admin.resource(definition, NAMESPACE).create(draft as unknown as Draft<T>);
    }
  };
  await copy(secrets);
  await copy<MachineClass>(machineClasses);
  await copy<Machine>(machines);
  for (const vm of old.cloud.vms.filter(({ machineName }) => machineName !== 'left')) await next.join(vm);
  const { create } = old.cloud.calls;
  next.start();
  await old.clock.advance(3 * HOUR);
  expect(old.cloud.vms).toMatchObject(vms);
  expect(old.cloud.calls.create).toBe(create);
  expect(
    (await next.machines()).map(({ metadata, status }) => `${metadata.name} ${status?.currentStatus?.phase}`),
  ).toEqual(['a Running', 'b Running', 'c Running']);
});
