import { crds, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, type KubeClient, seededRandom, VirtualClock } from '@mcm/kube';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { followTree, type Look } from './follow.ts';

let clock: VirtualClock;
let plane: ControlPlane;
let client: KubeClient;
const spec = (pool: string) => ({
  replicas: 2,
  selector: { matchLabels: { pool } },
  template: { metadata: { labels: { pool } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
});

beforeEach(async () => {
  clock = new VirtualClock();
  plane = await startControlPlane({ crds, clock, controllers: false });
  onTestFinished(() => plane.close());
  client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  await client.request('POST', '/api/v1/namespaces', {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
  });
  await create('default', 'web');
  await create('default', 'db');
  await create('other', 'batch');
});

const create = (namespace: string, name: string) =>
  client
    .resource<MachineDeployment>(machineDeployments, namespace)
    .create({ metadata: { name, labels: { app: name } }, spec: spec(name) } as never);

/** Follows a tree of machine objects, and returns all printed trees. */
function follow(options: { allNamespaces?: boolean; selector?: string; name?: string } = {}): Look[] {
  const end = new AbortController();
  onTestFinished(() => end.abort(new Error('the test is over')));
  const looks: Look[] = [];
  const cluster = { client, target: client, namespace: 'default' };
  followTree(
    cluster,
    { allNamespaces: false, all: false, ...options, clock, random: seededRandom(1), signal: end.signal },
    (look) => looks.push(look),
  ).catch((error: unknown) => {
    if (!end.signal.aborted) throw error;
  });
  return looks;
}

const names = (look: Look | undefined) =>
  look?.model.map(({ namespace, name }) => (namespace ? `${namespace}/${name}` : name));

test('the tree is shown once, and again only after a change', async () => {
  const looks = follow();
  await clock.advance(5_000);
  expect(looks.map(names)).toEqual([['db', 'web']]);
  await clock.advance(600_000);
  // Without a Lease, a controller counts as stopped after one minute in which it processed no MachineDeployment.
  const quiet = looks.length;
  expect(quiet).toBeLessThanOrEqual(2);
  await client
    .resource<Machine>(machines, 'default')
    .create({ metadata: { name: 'alone' }, spec: { class: { kind: 'MachineClass', name: 'small' } } } as never);
  await clock.advance(5_000);
  expect(names(looks.at(-1))).toEqual(['db', 'web', 'alone']);
  expect(looks).toHaveLength(quiet + 1);
});

test('a burst of changes is shown at once and at its end', async () => {
  const looks = follow();
  await clock.advance(5_000);
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await create('default', name);
  await clock.advance(4_000);
  expect(looks.length).toBeLessThanOrEqual(3);
  expect(names(looks.at(-1))).toEqual(['a', 'b', 'c', 'd', 'db', 'e', 'f', 'web']);
});

test.each([
  ['-l', { selector: 'app=web' }, ['web']],
  ['a name', { name: 'db' }, ['db']],
  ['-A', { allNamespaces: true }, ['default/db', 'default/web', 'other/batch']],
  ['-A with -l', { allNamespaces: true, selector: 'app!=web' }, ['default/db', 'other/batch']],
])('%s selects the deployments', async (_, options, expected) => {
  const looks = follow(options);
  await clock.advance(5_000);
  expect(names(looks.at(-1))).toEqual(expected);
});

test('a controller that stops is shown, although it causes no event', async () => {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/default/leases`;
  const renewTime = clock.now().toISOString().replace('Z', '000Z');
  await client.request('POST', leases, {
    body: {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'machine-controller' },
      spec: { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime },
    },
  });
  const looks = follow();
  await clock.advance(5_000);
  await clock.advance(20_000);
  expect(looks.at(-1)?.health).toContainEqual(
    expect.objectContaining({ name: 'machine-controller', state: 'stopped' }),
  );
});

test('the numbers of the state are numbers in JSON', async () => {
  const looks = follow({ name: 'web' });
  await clock.advance(5_000);
  expect(looks.at(-1)?.model[0]).toMatchObject({ numbers: { desired: 2, available: 0, updated: 0 } });
});

test('without permission for all of these kinds, the tree fails instead of showing an empty namespace', async () => {
  const refusing = createClient({
    transport: handlerTransport((request) =>
      request.url.includes('machine.sapcloud.io')
        ? Promise.resolve(Response.json({ kind: 'Status', code: 403, message: 'forbidden' }, { status: 403 }))
        : plane.fetch(request),
    ),
    userAgent: 'test',
    clock,
  });
  const cluster = { client: refusing, target: client, namespace: 'default' };
  const { signal } = new AbortController();
  const options = { allNamespaces: false, all: false, clock, random: seededRandom(1), signal };
  const shown: Look[] = [];
  const following = expect(followTree(cluster, options, (look) => shown.push(look))).rejects.toThrow('forbidden');
  await clock.advance(5_000);
  await following;
  expect(shown).toEqual([]);
});
