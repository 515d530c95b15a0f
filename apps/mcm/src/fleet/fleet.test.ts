import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, leases, type Transport, VirtualClock } from '@mcm/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { drain, move, replicaRows } from './actions.ts';

let client: KubeClient;
let transport: Transport;
let close: () => Promise<void>;
const clock = new VirtualClock();

beforeEach(async () => {
  const plane = await startControlPlane({ clock, controllers: false });
  close = () => plane.close();
  transport = plane.transport;
  client = createClient({ transport, userAgent: 'test', clock });
});
afterEach(() => close());

const create = (name: string, holderIdentity: string, settings?: object) =>
  client.resource(leases, 'default').create({
    metadata: {
      name,
      annotations: settings === undefined ? {} : { 'holder-settings': `${holderIdentity} ${JSON.stringify(settings)}` },
    },
    spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: clock.now().toISOString().replace('Z', '000Z') },
  });
const annotations = async (name: string) => {
  const { 'holder-settings': _, ...others } =
    (await client.resource(leases, 'default').get(name)).metadata.annotations ?? {};
  return others;
};

async function twoReplicas(): Promise<void> {
  await create('machine-controller-manager-fleet-0', 'a', { 'fleet-weight': 100, unreachable: ['c9'] });
  await create('machine-controller-manager-fleet-1', '', undefined);
  await create('machine-controller-aws-fleet-0', 'b', { 'fleet-weight': 1 });
  await create('machine-controller-manager', 'a.7');
  await create('machine-controller', 'b.12');
}

test('the status shows each replica with its state, its weight and the number of its clusters', async () => {
  await twoReplicas();
  const rows = async () =>
    (await replicaRows(client, 'default', clock.now())).map(
      ({ program, replica, state, weight, clusters, unreachable }) =>
        `${program} ${replica} ${state} ${weight} ${clusters} ${unreachable.join()}`.trimEnd(),
    );
  expect(await rows()).toEqual([
    'machine-controller-aws 0 live 1 1',
    'machine-controller-manager 0 live 100 1 c9',
    'machine-controller-manager 1 stopped 0 0',
  ]);
  await clock.advance(16_000);
  expect((await rows())[0]).toBe('machine-controller-aws 0 expired 1 1');
});

test('a drain changes the Leases of all programs, and a repetition changes nothing', async () => {
  await twoReplicas();
  expect((await drain(client, 'default', '0', true)).map(({ action }) => action)).toEqual([
    'drain requested',
    'drain requested',
  ]);
  expect(await annotations('machine-controller-aws-fleet-0')).toEqual({ 'fleet-drain': 'true' });
  expect((await drain(client, 'default', '0', true)).map(({ action }) => action)).toEqual(['unchanged', 'unchanged']);
  await drain(client, 'default', '0', false);
  expect(await annotations('machine-controller-aws-fleet-0')).toEqual({});
  await expect(drain(client, 'default', 'x', true)).rejects.toThrow(
    'the namespace default has no peer Lease of the replica x; the replicas are: 0, 1',
  );
});

test('a move assigns a cluster to one replica, and without a replica the hash decides again', async () => {
  await twoReplicas();
  await move(client, 'default', 'c1', '0');
  await move(client, 'default', 'c2', '0');
  expect(await annotations('machine-controller-manager-fleet-0')).toEqual({ 'fleet-clusters': 'c1,c2' });
  await move(client, 'default', 'c1', '1');
  expect(await annotations('machine-controller-manager-fleet-0')).toEqual({ 'fleet-clusters': 'c2' });
  expect(await annotations('machine-controller-manager-fleet-1')).toEqual({ 'fleet-clusters': 'c1' });
  await move(client, 'default', 'c1', undefined);
  expect(await annotations('machine-controller-manager-fleet-1')).toEqual({});
  await expect(move(client, 'default', 'a,b', '0')).rejects.toThrow('<cluster> must be the name of a cluster');
});

test('two moves at the same time are both kept', async () => {
  await twoReplicas();
  let moved = false;
  const racing = createClient({
    transport: async (request) => {
      if (request.method === 'PATCH' && !moved) {
        moved = true;
        await move(client, 'default', 'c2', '0');
      }
      return transport(request);
    },
    userAgent: 'test',
    clock,
  });
  await move(racing, 'default', 'c1', '0');
  for (const program of ['machine-controller-manager', 'machine-controller-aws']) {
    const chosen = (await annotations(`${program}-fleet-0`))['fleet-clusters'];
    expect(chosen?.split(',').toSorted()).toEqual(['c1', 'c2']);
  }
});
