import { startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, type Node, nodes, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import {
  type ControllerConfig,
  controllerConfigs,
  explainPool,
  type MachineConfigPool,
  machineConfigCrds,
  machineConfigPools,
  NodeAnnotations,
} from '@mcm/machine-config';
import { expect, test } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { formatted } from '../output/format.ts';
import { poolLines, poolNameOf, readPools, statusLines } from './pools.ts';

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain } = NodeAnnotations;
const ROLE = 'node-role.kubernetes.io/worker';

async function inCluster(work: (client: KubeClient, cluster: Cluster, now: Date) => Promise<void>): Promise<void> {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds: [...machineConfigCrds], controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  try {
    await client.resource(controllerConfigs).create({ metadata: { name: 'machine-config-controller' }, spec: {} });
    await client.resource(machineConfigPools).create({
      metadata: { name: 'worker' },
      spec: {
        machineConfigSelector: { matchLabels: { a: 'b' } },
        nodeSelector: { matchLabels: { [ROLE]: '' } },
        maxUnavailable: 2,
        configuration: { name: 'new' },
      },
    });
    await work(client, { client, target: client, namespace: 'default', close: async () => undefined }, clock.now());
  } finally {
    await plane.close();
  }
}

const node = (client: KubeClient, name: string, annotations: Record<string, string>, spec: object = {}) =>
  client.resource(nodes).create({ metadata: { name, labels: { [ROLE]: '' }, annotations }, spec });

const at = (current: string, desired = current, state = 'Done') => ({
  [CurrentConfig]: current,
  [DesiredConfig]: desired,
  [State]: state,
});

test('config explain shows whether each node has the target, why not, and which node is next', () =>
  inCluster(async (client, cluster, now) => {
    await node(client, 'a', at('new'));
    await node(client, 'b', { ...at('old', 'new', 'Working'), [DesiredDrain]: 'drain-new' });
    await node(client, 'c', at('old'));
    await node(client, 'd', at('old'));
    await node(client, 'e', at('old'), { unschedulable: false });
    const [pool] = await readPools(cluster, now, { name: 'worker' });
    expect(pool).toMatchObject({ nodes: 5, updated: 1, unavailable: 1, maxUnavailable: 2, next: ['c'] });
    const why = Object.fromEntries((pool?.standing ?? []).map((one) => [one.name, one.why]));
    const waits = 'the node waits until fewer nodes are unavailable or degraded, because of maxUnavailable';
    expect(why).toEqual({
      a: '',
      b: 'is drained',
      c: 'the node gets the target configuration next',
      d: waits,
      e: waits,
    });
    expect(pool && poolLines(pool)).toEqual([
      ...['machineconfigpool worker', '  target  new (InPlace)'],
      '  nodes   5: 1 updated, 1 unavailable, at most 2 may be unavailable',
      ...['  next    the controller sets the target of c', '', 'Nodes without the target configuration:'],
      ...[
        '  - b: is drained',
        '  - c: the node gets the target configuration next',
        `  - d: ${waits}`,
        `  - e: ${waits}`,
      ],
    ]);
  }));

test('config explain names the blockers of a pool, with hints', () =>
  inCluster(async (client, cluster, now) => {
    const patch = (spec: object) =>
      client.resource(machineConfigPools).patch('worker', { type: 'merge', body: { spec } });
    const explained = async () => (await readPools(cluster, now, { name: 'worker' }))[0];
    await node(client, 'a', at('old'));
    await node(client, 'b', { ...at('old', 'new', 'Degraded'), [Reason]: 'cannot write /etc/x' });
    await patch({ paused: true });
    const paused = await explained();
    expect(paused && statusLines([paused])[1]).toMatch(/the pool is paused; degraded: b {2}new$/);
    expect([paused?.next, paused?.blockers]).toEqual([[], ['the pool is paused']]);
    expect(paused?.standing.map(({ why }) => why)).toEqual([
      ...['the node does not get the target configuration: the pool is paused', 'Degraded: cannot write /etc/x'],
    ]);
    expect(paused?.hints).toEqual([
      `kubectl patch machineconfigpool worker --type merge -p '{"spec":{"paused":false}}'`,
      'revert the change that led to configuration new, or repair node b: Degraded: cannot write /etc/x',
    ]);
    const machineRefs = [{ kind: 'MachineSet', namespace: 'default', name: 'x' }];
    await patch({ paused: false, nodeSelector: null, machineRefs });
    expect(await explained()).toMatchObject({
      nodes: 0,
      next: [],
      blockers: [
        'MachineRefResolved: MachineSet default/x not found: create the object, or remove the reference from machineRefs',
      ],
    });
  }));

test('config explain reports a pool without nodes, and a pool that is completely updated', () =>
  inCluster(async (client, cluster, now) => {
    const next = async () => {
      const [pool] = await readPools(cluster, now);
      return pool && poolLines(pool)[3];
    };
    expect(await next()).toBe('  next    the pool has no nodes to update');
    await node(client, 'a', at('new'));
    expect(await next()).toBe('  next    no node, because every node has the target configuration');
  }));

test('a pool that replaces machines is blocked while old machines exist, and not afterwards', async () => {
  const annotations = at('old');
  const stored = (name: string, more: object) => ({ metadata: { name, uid: name, ...more } });
  const pool = partial<MachineConfigPool>({
    ...stored('infra', {}),
    spec: { updateStrategy: 'Replace', configuration: { name: 'new' } },
  });
  const explained = (annotationsNow: object) => {
    const nodes = [partial<Node>(stored('a', { annotations: annotationsNow }))];
    const controllerConfig = partial<ControllerConfig>(stored('machine-config-controller', {}));
    const facts = { pool, pools: [pool], nodes, controllerConfig, machineConfig: () => undefined, replaces: true };
    const snapshot = { ...facts, now: '2026-01-01T00:00:00Z' };
    return explainPool(snapshot, () => snapshot);
  };
  expect(explained(annotations).blockers).toEqual([
    'mcm replaces the machines that do not have the target configuration',
  ]);
  const after = explained(at('new'));
  expect([after.blockers, statusLines([after])[1]?.includes('  updated  ')]).toEqual([[], true]);
});

test('config status prints one line per pool, json and yaml print the model, and an unknown pool is an error', () =>
  inCluster(async (client, cluster, now) => {
    await node(client, 'a', at('new'));
    const pools = await readPools(cluster, now);
    expect(formatted('text', pools, statusLines)).toEqual([
      'POOL    NODES  UPDATED  UNAVAILABLE  STATE    TARGET',
      'worker  1      1        0/2          updated  new',
    ]);
    await node(client, 'b', at('old'));
    const [, line, of] = formatted('wide', await readPools(cluster, now), statusLines);
    expect([line?.includes('  updating  '), of]).toEqual([true, '  b: the node gets the target configuration next']);
    expect(JSON.parse(formatted('json', pools, statusLines).join(''))).toEqual(pools);
    expect(formatted('yaml', pools, statusLines)[0]).toContain('- name: worker\n  target: new\n');
    await expect(readPools(cluster, now, { name: 'infra' })).rejects.toThrow(
      'pool infra does not exist; existing pools: worker',
    );
    expect(['pool/a', 'mcp/a', 'machineconfigpools.machineconfiguration.openshift.io/a', 'a'].map(poolNameOf)).toEqual([
      ...['a', 'a', 'a', 'a'],
    ]);
    expect(() => poolNameOf('machine/a')).toThrow('is not a pool; write pool/NAME');
  }));
