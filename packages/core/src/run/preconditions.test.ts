import { Annotations, Finalizers, Labels, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { nodes, secrets, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

/**
 * The version or the UID from the decision is the precondition of each request, so the API server refuses an outdated
 * request.
 */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const FOREIGN = 'example.com/backup';
const UNREACHABLE = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] as const;

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

function racing(matches: (request: Seen) => boolean, act: () => Promise<unknown>) {
  let raced = false;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const body = typeof request.body === 'string' ? request.body : '';
      if (!raced && matches({ method: request.method, path: request.path, body })) {
        raced = true;
        await act();
      }
      return transport(request);
    };
  return { wrap, raced: () => raced };
}

const patches =
  (path: string, words: string) =>
  (request: Seen): boolean =>
    request.method === 'PATCH' && new RegExp(`/${path}(\\?|$)`).test(request.path) && request.body.includes(words);

const deletes =
  (path: string) =>
  (request: Seen): boolean =>
    request.method === 'DELETE' && new RegExp(`/${path}(\\?|$)`).test(request.path);

const machineClient = (rig: Rig) => rig.admin.resource<Machine>(machines, NAMESPACE);

/** The VM is deleted too, so that the new machine with an equal name cannot adopt it. */
async function replace(rig: Rig, name: string): Promise<Machine> {
  const client = machineClient(rig);
  await client.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.delete(name).catch(() => undefined);
  rig.cloud.lose(name);
  return rig.createMachine(name, {}, { finalizers: [FOREIGN] });
}

test('a finalizer that another client adds to a Machine survives the controller adding its own', async () => {
  const { wrap, raced } = racing(patches('machines/m-0', '"finalizers"'), () =>
    machineClient(rig).patch('m-0', { type: 'merge', body: { metadata: { finalizers: [FOREIGN] } } }),
  );
  const rig: Rig = await startRig({ wrap });
  await rig.createMachine('m-0', {}, { finalizers: [] });
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  expect(raced()).toBe(true);
  expect((await rig.machine('m-0'))?.metadata.finalizers).toEqual(
    [FOREIGN, Finalizers.MachineControllerManager].sort(),
  );
});

const KEPT = [
  { what: 'MachineClass', path: 'machineclasses/small', ours: Finalizers.MachineControllerManager },
  { what: 'Secret', path: 'secrets/small', ours: Finalizers.Secret },
] as const;

const kept = (rig: Rig, what: (typeof KEPT)[number]['what']) =>
  what === 'Secret'
    ? rig.admin.resource(secrets, NAMESPACE)
    : rig.admin.resource<MachineClass>(machineClasses, NAMESPACE);

const finalizersOf = async (rig: Rig, what: (typeof KEPT)[number]['what']): Promise<readonly string[]> =>
  (await kept(rig, what).get('small')).metadata.finalizers ?? [];

const addFinalizer = async (rig: Rig, what: (typeof KEPT)[number]['what']): Promise<void> => {
  const finalizers = [...(await finalizersOf(rig, what)), FOREIGN];
  await kept(rig, what).patch('small', { type: 'merge', body: { metadata: { finalizers } } });
};

test.each(KEPT)(
  'a finalizer that another client adds to a $what survives the controller adding its own',
  async ({ what, path, ours }) => {
    const { wrap, raced } = racing(patches(path, '"finalizers"'), () => addFinalizer(rig, what));
    const rig: Rig = await startRig({ wrap });
    await rig.createMachine('m-0');
    await rig.until(async () => (await finalizersOf(rig, what)).includes(ours));
    expect(raced()).toBe(true);
    expect(await finalizersOf(rig, what)).toEqual([FOREIGN, ours].sort());
  },
);

test.each(KEPT)(
  'a finalizer that another client adds to a $what survives the controller removing its own',
  async ({ what, path, ours }) => {
    const removes = ({ method, path: asked, body }: Seen): boolean =>
      patches(path, '"finalizers"')({ method, path: asked, body }) && !body.includes(ours);
    const { wrap, raced } = racing(removes, () => addFinalizer(rig, what));
    const rig: Rig = await startRig({ wrap });
    await rig.createMachine('m-0');
    await rig.until(async () => (await finalizersOf(rig, what)).includes(ours));
    await rig.deleteMachine('m-0');
    if (what === 'Secret') await rig.admin.resource(machineClasses, NAMESPACE).delete('small');
    await rig.until(async () => raced(), HOUR);
    await rig.until(async () => !(await finalizersOf(rig, what)).includes(ours), HOUR);
    expect(await finalizersOf(rig, what)).toEqual([FOREIGN]);
  },
);

/** Two machines with one name would register one Node, so VMs do not join by themselves. */
const NO_MACHINE_JOINS = { joinAfterMs: undefined } as const;

test('the VM of a machine is not recorded on another machine that took its name', async () => {
  const { wrap, raced } = racing(patches('machines/m-0', '"providerID"'), () => replace(rig, 'm-0'));
  const rig: Rig = await startRig({ wrap, ...NO_MACHINE_JOINS });
  const first = await rig.createMachine('m-0');
  await rig.until(async () => (await rig.machine('m-0'))?.spec.providerID !== undefined);
  expect(raced()).toBe(true);
  const second = await rig.machine('m-0');
  expect(second?.metadata.uid).not.toBe(first.metadata.uid);
  const own = rig.cloud.made.filter(({ uid }) => uid === second?.metadata.uid);
  expect(own.map(({ providerId }) => providerId)).toEqual([second?.spec.providerID]);
});

test('a machine that took the name of a machine whose Node was deleted is not deleted', async () => {
  const { wrap, raced } = racing(deletes('machines/m-0'), () => replace(rig, 'm-0'));
  const rig: Rig = await startRig({ wrap, ...NO_MACHINE_JOINS });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  const [vm] = rig.cloud.vms;
  if (vm) await rig.join(vm);
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.admin.resource(nodes).delete('m-0');
  await rig.until(async () => raced(), HOUR);
  await rig.clock.advance(MINUTE);
  const second = await rig.machine('m-0');
  expect(second?.metadata.finalizers).toContain(FOREIGN);
  expect(second?.metadata.deletionTimestamp).toBeUndefined();
});

async function leaveNode(rig: Rig, name: string): Promise<void> {
  await rig.admin.resource(nodes).create({
    metadata: {
      name,
      labels: { [Labels.MachineName]: name },
      annotations: { [Annotations.MachineClassOfNode]: `${NAMESPACE}/small` },
    },
    spec: { providerID: `fake:///zone/${name}` },
  });
  await rig.conditions(name, UNREACHABLE);
}

test.each<[what: string, act: (rig: Rig) => Promise<unknown>]>([
  ['whose kubelet reports again', (rig) => rig.conditions('gone', [{ type: 'Ready', status: 'True' }])],
  [
    'that another Node replaced',
    async (rig) => {
      await rig.admin.resource(nodes).delete('gone');
      await leaveNode(rig, 'gone');
    },
  ],
])('an orphan Node %s at the last moment is not deleted', async (_what, act) => {
  let before: string | undefined;
  const { wrap, raced } = racing(deletes('nodes/gone'), async () => {
    await act(rig);
    before = (await rig.admin.resource(nodes).get('gone')).metadata.uid;
  });
  const rig: Rig = await startRig({ wrap, eventTtlMs: 0 });
  await leaveNode(rig, 'gone');
  await rig.until(async () => raced(), 3 * HOUR);
  await rig.clock.advance(1_000);
  expect((await rig.nodes()).map(({ metadata }) => metadata.uid)).toEqual([before]);
});
