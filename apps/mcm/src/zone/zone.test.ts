import { Annotations, crds, type MachineDeployment, machineDeployments } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, namespaces, VirtualClock } from '@mcm/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { evacuate, returnZone, type ZoneTarget, zoneRows } from './actions.ts';

let client: KubeClient;
let target: ZoneTarget;
let close: () => Promise<void>;

beforeEach(async () => {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false });
  close = () => plane.close();
  client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  target = { client, namespace: 'default' };
});
afterEach(() => close());

const deployments = () => client.resource<MachineDeployment>(machineDeployments, 'default');
const create = (name: string, annotations: Record<string, string>) =>
  deployments().create({
    metadata: { name, annotations },
    spec: {
      replicas: 3,
      selector: { matchLabels: { name } },
      template: { metadata: { labels: { name } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
    },
  });
const zones = (...names: string[]) => ({ [Annotations.Zones]: JSON.stringify(names.map((zone) => ({ zone }))) });
const evacuated = async (name: string) =>
  (await deployments().get(name)).metadata.annotations?.[Annotations.ZonesEvacuated];

test('an evacuation and a return change all deployments with the zone, and a repetition changes nothing', async () => {
  await create('web', zones('a', 'b', 'c'));
  await create('db', zones('b', 'c'));
  await create('plain', {});
  expect((await evacuate(target, 'a')).map(({ deployment, action }) => [deployment, action])).toEqual([
    ['web', 'evacuated'],
  ]);
  expect((await evacuate(target, 'b')).map(({ action }) => action)).toEqual(['evacuated', 'evacuated']);
  expect([await evacuated('web'), await evacuated('db'), await evacuated('plain')]).toEqual(['a,b', 'b', undefined]);
  expect((await evacuate(target, 'b')).map(({ action }) => action)).toEqual(['unchanged', 'unchanged']);
  await returnZone(target, 'b');
  expect([await evacuated('web'), await evacuated('db')]).toEqual(['a', undefined]);
  expect((await returnZone(target, 'b')).map(({ action }) => action)).toEqual(['unchanged', 'unchanged']);
});

test('an evacuation of one deployment does not change the others', async () => {
  await create('web', zones('a', 'b'));
  await create('db', zones('a', 'b'));
  await evacuate({ ...target, deployment: 'db' }, 'a');
  expect([await evacuated('web'), await evacuated('db')]).toEqual([undefined, 'a']);
  await expect(evacuate({ ...target, deployment: 'x' }, 'a')).rejects.toThrow('machinedeployment x does not exist');
});

test('a deployment without another zone, or with an error, is reported and the others are evacuated', async () => {
  await create('broken', { [Annotations.Zones]: 'a' });
  await create('only', zones('a'));
  await create('web', zones('a', 'b'));
  const changes = await evacuate(target, 'a');
  expect(changes.map(({ deployment, action, problem }) => [deployment, action, problem])).toEqual([
    ['broken', 'unchanged', expect.stringMatching(/zones\]: is not a JSON list/)],
    ['only', 'unchanged', 'no zone would remain; return another zone first, or add a zone'],
    ['web', 'evacuated', undefined],
  ]);
  expect(await evacuated('only')).toBeUndefined();
});

test('an unknown zone is refused with the known ones', async () => {
  await expect(evacuate(target, 'a')).rejects.toThrow(
    `has the zone a; no MachineDeployment has the annotation ${Annotations.Zones}`,
  );
  await create('web', zones('a', 'b'));
  await expect(evacuate(target, 'x')).rejects.toThrow('has the zone x; the zones are a, b');
});

test('the list shows the state of each zone', async () => {
  await create('web', { ...zones('a', 'b'), [Annotations.ZonesStandby]: 'b=2026-01-01T00:00:00Z' });
  await evacuate(target, 'a');
  expect((await zoneRows(target)).map(({ zone, machines, state }) => [zone, machines, state])).toEqual([
    ['a', 0, 'evacuated'],
    ['b', 0, 'standby'],
  ]);
});

test('a zone is evacuated in all namespaces, or in the deployments with certain labels', async () => {
  const other = { metadata: { name: 'other' } };
  await client.resource(namespaces).create(other);
  await create('web', zones('a', 'b'));
  const db = await create('db', zones('a', 'b'));
  await client.resource<MachineDeployment>(machineDeployments, 'other').create({
    metadata: { name: 'web', labels: { app: 'web' }, annotations: zones('a', 'b') },
    spec: db.spec,
  });
  const changed = async (scope: Partial<ZoneTarget>) =>
    (await evacuate({ ...target, ...scope }, 'a')).map(({ namespace, deployment }) => `${namespace}/${deployment}`);
  expect(await changed({ namespace: undefined, selector: 'app=web' })).toEqual(['other/web']);
  expect(await changed({ namespace: undefined })).toEqual(['default/db', 'default/web', 'other/web']);
  const rows = await zoneRows({ ...target, namespace: undefined });
  expect(rows.filter(({ zone }) => zone === 'a').map(({ namespace, state }) => [namespace, state])).toEqual([
    ['default', 'evacuated'],
    ['default', 'evacuated'],
    ['other', 'evacuated'],
  ]);
  await expect(evacuate({ ...target, namespace: undefined }, 'x')).rejects.toThrow(
    'no MachineDeployment of the cluster has the zone x; the zones are a, b',
  );
});
