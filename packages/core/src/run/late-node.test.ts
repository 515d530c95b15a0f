import { Annotations, Labels, type Machine, machines } from '@mcm/api';
import { pods, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { powerOf } from '../warm/warm-machine.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const silent = (signal: AbortSignal | undefined): ReadableStream =>
  new ReadableStream({
    start: (stream) => signal?.addEventListener('abort', () => stream.error(signal.reason), { once: true }),
  });

const deafToNodes =
  (transport: Transport): Transport =>
  (request) =>
    /\/nodes\?.*watch=/.test(request.path) ? Promise.resolve(new Response(silent(request.signal))) : transport(request);

test('a Node that registers while its VM is being deleted is deleted with its machine, though no watch has shown it', async () => {
  const { rig, requests } = await createRig({
    wrap: deafToNodes,
    joinAfterMs: undefined,
    cloud: {
      gate: async (method, point) => {
        const [vm] = rig.cloud.vms;
        if (method === 'delete' && point === 'before' && vm) await rig.join(vm);
      },
    },
  });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m');
  await rig.until(async () => rig.cloud.made.length === 1, 60_000);
  await rig.clock.advance(1_000);
  await rig.deleteMachine('m');
  await rig.until(async () => (await rig.machines()).length === 0, 60_000);
  expect([rig.cloud.vms, await rig.nodes()]).toEqual([[], []]);
  const looks = requests.filter(({ verb, resource, name }) => `${verb} ${resource} ${name}` === 'get nodes m');
  expect(looks.length).toBeLessThanOrEqual(2);
});

test('a Node that registers late is also deleted if the machine was warm and its VM starts again', async () => {
  let isDeaf = false;
  const { rig }: { rig: Rig } = await createRig({
    wrap: (transport) => (request) => (isDeaf ? deafToNodes(transport) : transport)(request),
    joinAfterMs: undefined,
    cloud: {
      stops: true,
      gate: async (method, point) => {
        const [vm] = rig.cloud.vms;
        if (method === 'delete' && point === 'before' && vm) await rig.join(vm);
      },
    },
  });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m', {}, { annotations: { [Annotations.WarmState]: 'Stopped' } });
  await rig.until(async () => (await rig.phase('m')) === 'Pending', 60_000);
  const [vm] = rig.cloud.vms;
  if (!vm) throw new Error('there is no VM');
  await rig.join(vm);
  const power = async () => {
    const machine = await rig.machine('m');
    return machine && powerOf(machine)?.is;
  };
  await rig.until(async () => (await power()) === 'Stopped', 60_000);
  await rig.clock.advance(60_000);
  isDeaf = true;
  // The client opens the watch again after a while.
  await rig.clock.advance(900_000);
  const body = { metadata: { annotations: { [Annotations.WarmState]: null } } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m', { type: 'merge', body });
  await rig.until(async () => (await power()) === 'Starting', 60_000);
  await rig.clock.advance(1_000);
  await rig.deleteMachine('m');
  await rig.until(async () => (await rig.machines()).length === 0, 60_000);
  expect([rig.cloud.vms, await rig.nodes()]).toEqual([[], []]);
});

const unreadable =
  (transport: Transport): Transport =>
  (request) =>
    request.method === 'GET' && /\/nodes\/[^?]+$/.test(request.path)
      ? Promise.resolve(Response.json({ kind: 'Status', status: 'Failure', code: 500, message: 'no' }, { status: 500 }))
      : transport(request);

async function unseenNode(wrap: (transport: Transport) => Transport) {
  const { rig } = await createRig({ wrap, joinAfterMs: undefined });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m');
  await rig.until(async () => rig.cloud.made.length === 1, 60_000);
  await rig.clock.advance(1_000);
  const [vm] = rig.cloud.vms;
  if (!vm) throw new Error('there is no VM');
  await rig.join(vm);
  await rig.createPod('a', vm.nodeName);
  await rig.deleteMachine('m');
  await rig.clock.advance(30_000);
  return rig;
}

test('the pods of a Node that no watch has shown are evicted before its VM is deleted', async () => {
  const rig = await unseenNode(deafToNodes);
  const client = rig.admin.resource(pods, NAMESPACE);
  expect((await client.get('a')).metadata.deletionTimestamp).toBeDefined();
  expect(rig.cloud.vms).toHaveLength(1);
  await client.delete('a', { gracePeriodSeconds: 0 });
  await rig.until(async () => (await rig.machines()).length === 0, 60_000);
  expect([rig.cloud.vms, await rig.nodes()]).toEqual([[], []]);
});

const blind = (transport: Transport): Transport => unreadable(deafToNodes(transport));

test('while the API server does not answer whether there is a Node, the VM stays until the drain timeout', async () => {
  const rig = await unseenNode(blind);
  await rig.clock.advance(7_000_000);
  expect(rig.cloud.vms).toHaveLength(1);
  await rig.until(async () => rig.cloud.vms.length === 0, 900_000);
});

test('force-deletion does not wait for this answer', async () => {
  const rig = await unseenNode(blind);
  expect(rig.cloud.vms).toHaveLength(1);
  const body = { metadata: { labels: { [Labels.ForceDeletion]: 'True' } } };
  await rig.admin.resource(machines, NAMESPACE).patch('m', { type: 'merge', body });
  await rig.until(async () => rig.cloud.vms.length === 0, 60_000);
});
