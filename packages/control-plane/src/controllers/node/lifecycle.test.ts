import { expect, test, vi } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { TestPlane } from '../testing.ts';
import { Heartbeats } from './heartbeats.ts';

const NODES = '/api/v1/nodes';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const PODS = '/api/v1/namespaces/default/pods';
const LOST_MS = 56_000;

const says = (plane: TestPlane, name: string, status: string): Promise<ApiObject> => {
  const lastHeartbeatTime = plane.clock
    .now()
    .toISOString()
    .replace(/\.\d+Z/, 'Z');
  return plane.patch(`${NODES}/${name}/status`, {
    status: { conditions: [{ type: 'Ready', status, lastHeartbeatTime }] },
  });
};

async function join(plane: TestPlane, zones: Record<string, string>): Promise<void> {
  for (const [name, zone] of Object.entries(zones)) {
    const labels = zone === '' ? {} : { 'topology.kubernetes.io/zone': zone };
    await plane.must('POST', NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
    await says(plane, name, 'True');
    await plane.must('POST', LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name },
      spec: { holderIdentity: name },
    });
  }
}

const renew = (plane: TestPlane, name: string): Promise<ApiObject> =>
  plane.patch(`${LEASES}/${name}`, { spec: { renewTime: plane.clock.now().toISOString().replace('Z', '000Z') } });

async function pass(plane: TestPlane, ms: number, alive: readonly string[]): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    for (const name of alive) await renew(plane, name);
    await plane.clock.advance(Math.min(left, 10_000));
  }
}

const taintsOf = async (plane: TestPlane, name: string): Promise<string[]> => {
  const { spec } = await plane.must('GET', `${NODES}/${name}`);
  return ((spec as { taints?: { key: string; effect: string }[] }).taints ?? []).map(
    ({ key, effect }) => `${key.replace('node.kubernetes.io/', '')}:${effect}`,
  );
};

async function expelled(plane: TestPlane): Promise<string[]> {
  const names = (await plane.list(NODES)).map(({ metadata }) => metadata.name ?? '');
  const left: string[] = [];
  for (const name of names)
    if ((await taintsOf(plane, name)).some((taint) => taint.endsWith('NoExecute'))) left.push(name);
  return left;
}

test('a node that renews its lease stays ready without a write, and becomes unreachable when it stops', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane, { n: '', other: '' });
  await plane.clock.advance(5_000);
  const before = (await plane.must('GET', `${NODES}/n`)).metadata.resourceVersion;
  await pass(plane, 300_000, ['n', 'other']);
  expect((await plane.must('GET', `${NODES}/n`)).metadata.resourceVersion).toBe(before);
  await pass(plane, 30_000, ['other']);
  expect(await taintsOf(plane, 'n')).toEqual([]);
  await pass(plane, 20_000, ['other']);
  expect(await taintsOf(plane, 'n')).toEqual(['unreachable:NoSchedule', 'unreachable:NoExecute']);
  const { status } = await plane.must('GET', `${NODES}/n`);
  const said = { status: 'Unknown', reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };
  const never = {
    status: 'Unknown',
    reason: 'NodeStatusNeverUpdated',
    message: 'Kubelet never posted node status.',
  };
  expect((status as { conditions: object[] }).conditions).toEqual([
    expect.objectContaining({ type: 'Ready', ...said }),
    ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => expect.objectContaining({ type, ...never })),
  ]);
  await says(plane, 'n', 'True');
  expect(await taintsOf(plane, 'n')).toEqual(['unreachable:NoExecute']);
  await plane.clock.advance(5_000);
  expect(await taintsOf(plane, 'n')).toEqual([]);
  expect(plane.errors).toEqual([]);
});

test('a node that never reports is unreachable a minute after its creation', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane, { other: '' });
  await plane.must('POST', NODES, { metadata: { name: 'mute' } });
  await pass(plane, 60_000, ['other']);
  expect(await taintsOf(plane, 'mute')).toEqual([]);
  await pass(plane, 10_000, ['other']);
  expect(await taintsOf(plane, 'mute')).toEqual(['unreachable:NoSchedule', 'unreachable:NoExecute']);
});

test('unreachable nodes of a zone are tainted at a rate of one per ten seconds', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane, { a: 'z', b: 'z', c: 'z', d: 'z', e: 'y' });
  await pass(plane, LOST_MS, ['c', 'd', 'e']);
  expect(await expelled(plane)).toEqual(['a']);
  await pass(plane, 10_000, ['c', 'd', 'e']);
  expect(await expelled(plane)).toEqual(['a', 'b']);
});

test('a small zone with many unreachable nodes gets no taints; a completely unreachable zone does while other zones are healthy', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane, { a: 'z', b: 'z', c: 'z', d: 'z', x: 'y' });
  await pass(plane, LOST_MS + 60_000, ['d', 'x']);
  expect(await taintsOf(plane, 'a')).toEqual(['unreachable:NoSchedule']);
  expect(await expelled(plane)).toEqual([]);
  await pass(plane, LOST_MS, ['x']);
  await pass(plane, 60_000, ['x']);
  expect(await expelled(plane)).toEqual(['a', 'b', 'c', 'd']);
});

test('when all zones are unreachable, no node is tainted and existing taints are removed; the time starts again when zones recover', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane, { a: 'z', b: 'y', c: 'y' });
  await pass(plane, LOST_MS, ['b', 'c']);
  expect(await expelled(plane)).toEqual(['a']);
  await pass(plane, LOST_MS + 120_000, []);
  expect(await expelled(plane)).toEqual([]);
  expect(await taintsOf(plane, 'a')).toEqual(['unreachable:NoSchedule']);
  await says(plane, 'c', 'True');
  await pass(plane, 5_000, ['c']);
  expect(await expelled(plane)).toEqual([]);
  await pass(plane, 20_000, ['c']);
  expect(await expelled(plane)).toEqual(['a', 'b']);
  expect(plane.errors).toEqual([]);
});

test('an excluded node does not keep its zone healthy', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane, { a: '', b: '' });
  await plane.patch(`${NODES}/b`, { metadata: { labels: { 'node.kubernetes.io/exclude-disruption': '' } } });
  await pass(plane, LOST_MS + 20_000, ['b']);
  expect(await expelled(plane)).toEqual([]);
});

test('the taints not-ready and unreachable are exchanged at once, without the rate limit', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane, { n: '', other: '', third: '' });
  await says(plane, 'n', 'False');
  await plane.clock.advance(5_000);
  expect(await taintsOf(plane, 'n')).toEqual(['not-ready:NoSchedule', 'not-ready:NoExecute']);
  await says(plane, 'n', 'Unknown');
  await plane.clock.advance(5_000);
  expect((await taintsOf(plane, 'n')).toSorted()).toEqual(['unreachable:NoExecute', 'unreachable:NoSchedule']);
});

test('pods of an unreachable node become unready, and are evicted five minutes after its taint', async () => {
  await using plane = await TestPlane.start('node-lifecycle', 'taint-eviction');
  await join(plane, { n: '', other: '' });
  const containers = [{ name: 'c', image: 'i' }];
  await plane.must('POST', PODS, {
    metadata: { name: 'p' },
    spec: { nodeName: 'n', terminationGracePeriodSeconds: 0, containers },
  });
  await plane.patch(`${PODS}/p/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  await pass(plane, LOST_MS, ['other']);
  const [ready] = ((await plane.must('GET', `${PODS}/p`)).status as { conditions: { status: string }[] }).conditions;
  expect(ready?.status).toBe('False');
  await pass(plane, 290_000, ['other']);
  expect(await plane.exists(`${PODS}/p`)).toBe(true);
  await pass(plane, 20_000, ['other']);
  expect(await plane.exists(`${PODS}/p`)).toBe(false);
});

test('deprecated labels get the values of the new ones', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  const labels = { 'kubernetes.io/os': 'linux', 'beta.kubernetes.io/arch': 'old', 'kubernetes.io/arch': 'arm64' };
  await plane.must('POST', NODES, { metadata: { name: 'n', labels } });
  expect((await plane.must('GET', `${NODES}/n`)).metadata.labels).toEqual({
    ...labels,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': 'arm64',
  });
});

test('a heartbeat causes no check of a node', async () => {
  await using plane = await TestPlane.start('node-lifecycle');
  await join(plane, { a: '', b: '', c: '' });
  await plane.clock.advance(5_000);
  const deadline = vi.spyOn(Heartbeats.prototype, 'deadline');
  // Each node sends ten heartbeats, but is checked only once.
  await pass(plane, 55_000, ['a', 'b', 'c']);
  expect(deadline.mock.calls.length).toBe(3);
  deadline.mockRestore();
});
