import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, KubeError, type Lease, leases, VirtualClock } from '@mcm/kube';
import type { PoolExplanation } from '@mcm/machine-config';
import { expect, onTestFinished, test } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { readConfigController, withControllers } from './controller.ts';
import { poolLines, statusLines } from './pools.ts';

const NAME = 'machine-config-controller';

/** Creates Leases of the machine-config-controller, each from a namespace and the seconds since the last renewal. */
async function setUp(...held: readonly (readonly [string, number])[]) {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, controllers: false });
  onTestFinished(() => plane.close());
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  for (const [namespace, secondsAgo] of held) {
    const renewTime = new Date(clock.now().getTime() - secondsAgo * 1_000).toISOString().replace('Z', '000Z');
    await client.resource<Lease>(leases, namespace).create({
      metadata: { name: NAME },
      spec: { holderIdentity: 'host_1', leaseDurationSeconds: 15, renewTime },
    });
  }
  const cluster: Cluster = { client, target: client, namespace: 'default', close: async () => undefined };
  const read = async (of: Cluster = cluster) => {
    const reading = readConfigController(of, clock);
    await clock.advance(3_000);
    return (await reading).map(({ name, reason }) => [name, reason]);
  };
  return { clock, client, cluster, read };
}

const STANDING = { current: 'old', desired: 'old', state: 'Done', updated: false, unavailable: false };
const pool: PoolExplanation = {
  name: 'infra',
  target: 'new',
  completed: 'old',
  updateStrategy: 'InPlace',
  paused: false,
  nodes: 2,
  updated: 0,
  unavailable: 0,
  maxUnavailable: 1,
  next: ['a'],
  standing: [
    { ...STANDING, name: 'a', why: 'gets the target configuration next' },
    { ...STANDING, name: 'b', why: 'waits' },
  ],
  blockers: [],
  hints: [],
};

test('finds a stopped machine-config-controller in another namespace', async () => {
  const { read } = await setUp(['kube-system', 60]);
  expect(await read()).toEqual([[NAME, `the leader host_1 does not renew Lease kube-system/${NAME}`]]);
});

test('ignores the Lease of a removed installation if another controller works', async () => {
  const { read } = await setUp(['default', 9_000], ['kube-system', 3]);
  expect(await read()).toEqual([]);
});

test('without a Lease, no controller is reported', async () => {
  const { read } = await setUp();
  expect(await read()).toEqual([]);
});

test('without permission to list all Leases, the Lease in the namespace of the user is read', async () => {
  const { client, cluster, read } = await setUp(['default', 60], ['kube-system', 3]);
  const refused = new KubeError('forbidden', { code: 403, reason: 'Forbidden' });
  const limited = new Proxy(client, {
    get: (target, key) =>
      key === 'resource'
        ? (...given: Parameters<KubeClient['resource']>) =>
            given[1] === undefined ? { list: () => Promise.reject(refused) } : target.resource(...given)
        : Reflect.get(target, key),
  });
  expect(await read({ ...cluster, client: limited })).toEqual([
    [NAME, `the leader host_1 does not renew Lease default/${NAME}`],
  ]);
});

test('config explain and config status name a stopped controller, and announce none of its next steps', async () => {
  const { clock, cluster } = await setUp(['default', 90]);
  const now = clock.now();
  const reading = readConfigController(cluster, clock);
  await clock.advance(3_000);
  const report = withControllers(pool, await reading);
  const stopped = [
    'Controllers that are not working:',
    expect.stringMatching(/^ {2}- machine-config-controller is not working since .* \(90s\)$/),
    `      the leader host_1 does not renew Lease default/${NAME}`,
    '      mcm renders no configuration, and updates no further node',
    '  hint: check the logs of the controller, and restart its process if the process hangs',
  ];
  expect(poolLines(report, now)).toEqual([
    ...['machineconfigpool infra', '  target  new (InPlace)', '  before  old'],
    '  nodes   2: 0 updated, 0 unavailable, at most 1 may be unavailable',
    ...['  next    no step, because machine-config-controller is not working', '', ...stopped, ''],
    'Nodes without the target configuration:',
    '  - a: the node does not get the target configuration: machine-config-controller is not working',
    ...['  - b: waits', '', 'Blocked by:', '  - machine-config-controller is not working'],
  ]);
  expect(statusLines([report], false, now)).toEqual([
    ...[...stopped, ''],
    'POOL   NODES  UPDATED  UNAVAILABLE  STATE                                     TARGET',
    'infra  2      0        0/1          machine-config-controller is not working  new',
  ]);
  expect(withControllers(pool, [])).toBe(pool);
});
